"""Protobuf over the wire: what clients that prefer it send and get from a real server."""

from __future__ import annotations

import gzip
import json
import random
from collections.abc import Iterator
from http.client import HTTPResponse
from typing import Any

import pytest

from kapi.api.gvk import GroupVersion, GroupVersionKind
from kapi.codec.decode import PROTOBUF, decode_object
from kapi.codec.protobuf import Body, encode_object
from kapi.codec.protobuf_read import read_message
from tests.server_process import Client, Server

PARTIAL = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1"


@pytest.fixture
def client(shared_server: Server) -> Iterator[Client]:
    with shared_server.client() as made:
        yield made


@pytest.fixture
def maps(client: Client) -> str:
    """The path of the ConfigMaps of a new namespace."""
    name = f"protobuf-{random.getrandbits(40):x}"
    client.create("/api/v1/namespaces", {"metadata": {"name": name}})
    return f"/api/v1/namespaces/{name}/configmaps"


def config_map(name: str, **more: Any) -> dict[str, Any]:
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, **more}


def read(response: HTTPResponse) -> tuple[int, dict[str, Any]]:
    """The status, and what the envelope holds."""
    assert response.headers["content-type"] == PROTOBUF
    body = Body(response.read())
    found = read_message(_message(body), body.raw)
    return response.status, {"kind": body.kind, "apiVersion": body.api_version, **found}


def _message(body: Body) -> str:
    package = "core.v1" if body.kind.startswith("ConfigMap") else "meta.v1"
    return f"{package}.{body.kind}"


def test_an_object_goes_in_and_out_as_protobuf(client: Client, maps: str) -> None:
    sent = encode_object(config_map("a", data={"k": "v"}, binaryData={"b": "AP8="}))
    status, created = read(client.send("POST", maps, sent, content_type=PROTOBUF, accept=PROTOBUF))
    assert status == 201
    assert created == client.get(f"{maps}/a")
    assert created["binaryData"] == {"b": "AP8="}
    created["data"]["k"] = "w"
    sent = encode_object(created)
    status, updated = read(client.send("PUT", f"{maps}/a", sent, content_type=PROTOBUF, accept=PROTOBUF))
    assert (status, updated["data"]) == (200, {"k": "w"})
    assert read(client.send("GET", f"{maps}/a", accept=PROTOBUF)) == (200, updated)


def test_a_body_in_protobuf_is_defaulted_as_json_is(client: Client, maps: str) -> None:
    secrets = maps.replace("configmaps", "secrets")
    sent = encode_object({"kind": "Secret", "apiVersion": "v1", "metadata": {"name": "s"}, "data": {"x": "eQ=="}})
    status, created = client.call("POST", secrets, sent, content_type=PROTOBUF)
    assert (status, created["type"], created["data"]) == (201, "Opaque", {"x": "eQ=="})


def test_delete_takes_its_options_and_answers_in_protobuf(client: Client, maps: str) -> None:
    client.create(maps, config_map("a"))
    options = {"kind": "DeleteOptions", "apiVersion": "v1", "preconditions": {"uid": "another"}}
    sent = encode_object(options)
    status, told = read(client.send("DELETE", f"{maps}/a", sent, content_type=PROTOBUF, accept=PROTOBUF))
    assert (status, told["reason"]) == (409, "Conflict")
    status, told = read(client.send("DELETE", f"{maps}/a", accept=PROTOBUF))
    assert (status, told["status"], told["details"]["name"]) == (200, "Success", "a")


def test_a_list_is_one_message_with_its_metadata(client: Client, maps: str) -> None:
    assert read(client.send("GET", maps, accept=PROTOBUF))[1].get("items") is None
    for name in "abc":
        client.create(maps, config_map(name))
    status, page = read(client.send("GET", f"{maps}?limit=2", accept=PROTOBUF))
    assert (status, page["kind"]) == (200, "ConfigMapList")
    assert [item["metadata"]["name"] for item in page["items"]] == ["a", "b"]
    assert page["metadata"]["remainingItemCount"] == 1
    assert page["items"] == client.get(f"{maps}?limit=2")["items"]


@pytest.mark.parametrize("version", ["v1", "v1beta1"])
def test_metadata_alone_is_served_in_protobuf(client: Client, maps: str, version: str) -> None:
    made = client.create(maps, config_map("a", data={"k": "v"}))
    accept = f"{PROTOBUF};as=PartialObjectMetadata;g=meta.k8s.io;v={version}"
    body = Body(client.send("GET", f"{maps}/a", accept=accept).read())
    assert (body.api_version, body.kind) == (f"meta.k8s.io/{version}", "PartialObjectMetadata")
    assert read_message("meta.v1.PartialObjectMetadata", body.raw) == {"metadata": made["metadata"]}
    accept = accept.replace("Metadata;", "MetadataList;")
    body = Body(client.send("GET", maps, accept=accept).read())
    listed = read_message(f"meta.{version}.PartialObjectMetadataList", body.raw)
    assert [item["metadata"] for item in listed["items"]] == [made["metadata"]]


def test_a_watch_sends_frames_with_their_length(client: Client, maps: str) -> None:
    made = client.create(maps, config_map("a", data={"k": "v"}))
    accept = f"{PROTOBUF},application/json"
    response = client.send("GET", f"{maps}?watch=1&timeoutSeconds=1&resourceVersion=0", accept=accept)
    assert response.headers["content-type"] == f"{PROTOBUF};stream=watch"
    event = watch_event(response)
    assert event == ("ADDED", made)


def watch_event(response: HTTPResponse) -> tuple[str, dict[str, Any]]:
    frame = response.read(int.from_bytes(response.read(4), "big"))
    assert frame.startswith(b"\n")
    kind, rest = frame[2 : 2 + frame[1]].decode(), frame[2 + frame[1] :]
    envelope = rest[rest.index(b"k8s\x00") :]
    body = Body(envelope)
    return kind, {"kind": body.kind, "apiVersion": body.api_version, **read_message(_message(body), body.raw)}


def test_an_expired_watch_is_told_in_a_frame(client: Client, maps: str) -> None:
    query = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    response = client.send("GET", f"{maps}?{query}&resourceVersion=99999999", accept=PROTOBUF)
    kind, told = watch_event(response)
    assert (kind, told["kind"], told["code"]) == ("ERROR", "Status", 504)


def test_failures_come_in_the_form_that_is_asked_for(client: Client, maps: str) -> None:
    status, told = read(client.send("GET", f"{maps}/missing", accept=PROTOBUF))
    assert (status, told["reason"], told["details"]) == (404, "NotFound", {"name": "missing", "kind": "configmaps"})
    response = client.send("GET", f"{maps}/missing", accept=f"{PROTOBUF};{PARTIAL},application/json")
    assert response.headers["content-type"] == "application/json"
    assert json.loads(response.read())["code"] == 404


def test_a_failure_is_only_indented_when_no_form_of_it_is_accepted(client: Client, maps: str) -> None:
    table = "application/json;as=Table;g=meta.k8s.io;v=v1"
    for accept, lines in ((table, True), (f"{table},application/json", False)):
        response = client.send("GET", f"{maps}?fieldSelector=bogus=x", accept=accept)
        assert (response.status, b"\n  " in response.read()) == (400, lines)


def test_a_malformed_body_is_a_bad_request(client: Client, maps: str) -> None:
    status, told = client.call("POST", maps, b"k8s\x00\x12\x02\n\x05", content_type=PROTOBUF)
    assert status == 400
    assert told["message"] == 'ConfigMap in version "v1" cannot be handled as a ConfigMap: unexpected EOF'


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        (f"{PROTOBUF},application/json", PROTOBUF),
        (f"application/json,{PROTOBUF}", "application/json"),
        (f"application/json;q=0.5,{PROTOBUF};q=0.9", PROTOBUF),
        (f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1,application/yaml", "application/yaml"),
        ("*/*", "application/json"),
    ],
)
def test_the_best_form_that_there_is_is_taken(client: Client, maps: str, accept: str, form: str) -> None:
    response = client.send("GET", maps, accept=accept)
    response.read()
    assert (response.status, response.headers["content-type"]) == (200, form)


def test_a_table_has_no_protobuf(client: Client, maps: str) -> None:
    status, told = client.call("GET", maps, accept=f"{PROTOBUF};as=Table;g=meta.k8s.io;v=v1")
    assert (status, told["reason"]) == (406, "NotAcceptable")


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/api", "APIVersions"),
        ("/apis", "APIGroupList"),
        ("/apis/coordination.k8s.io", "APIGroup"),
        ("/api/v1", "APIResourceList"),
    ],
)
def test_discovery_is_served_in_protobuf(client: Client, path: str, kind: str) -> None:
    response = client.send("GET", path, accept=PROTOBUF)
    assert response.headers["content-type"] == PROTOBUF
    assert Body(response.read()).kind == kind


def test_a_large_answer_is_compressed(client: Client, maps: str) -> None:
    client.create(maps, config_map("large", data={"k": "v" * 200_000}))
    response = client.send("GET", f"{maps}/large", accept=PROTOBUF, accept_encoding="gzip")
    assert response.headers["content-encoding"] == "gzip"
    gvk = GroupVersionKind(*GroupVersion.parse("v1"), "ConfigMap")
    found = decode_object(gzip.decompress(response.read()), PROTOBUF, gvk).object
    assert len(found["data"]["k"]) == 200_000
