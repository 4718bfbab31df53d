"""Conversion between versions: by a webhook over TLS, and by a function of this process."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.apiextensions.conftest import DEFINITIONS, MERGE, Group
from tests.server_process import Server
from tests.webhook_server import WebhookServer

SPECS = {
    "v1": {"type": "object", "properties": {"size": {"type": "string"}}},
    "v2": {"type": "object", "properties": {"width": {"type": "integer"}, "unit": {"type": "string", "default": "cm"}}},
}


def versions(stored: str) -> list[dict[str, Any]]:
    return [
        {
            "name": name,
            "served": True,
            "storage": name == stored,
            "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}},
        }
        for name, spec in SPECS.items()
    ]


def converted(obj: dict[str, Any], api_version: str) -> dict[str, Any]:
    """v1 says `size: 3cm` where v2 says `width: 3`, `unit: cm`."""
    spec = obj.pop("spec", {})
    if api_version.endswith("/v2"):
        size = spec.get("size", "0cm")
        obj["spec"] = {"width": int(size[:-2]), "unit": size[-2:]}
    else:
        obj["spec"] = {"size": f"{spec.get('width', 0)}{spec.get('unit', '')}"}
    return {**obj, "apiVersion": api_version}


def review(request: Any) -> Any:
    asked = request["request"]
    objects = [converted(obj, asked["desiredAPIVersion"]) for obj in asked["objects"]]
    response = {"uid": asked["uid"], "convertedObjects": objects, "result": {"status": "Success"}}
    return {"apiVersion": request["apiVersion"], "kind": request["kind"], "response": response}


def answering(**changes: Any) -> Any:
    """A webhook that answers well but for these fields of its response."""

    def reply(request: Any) -> Any:
        answered = review(request)
        answered["response"] |= changes
        return answered

    return reply


@pytest.fixture
def webhook(tmp_path: Path) -> Iterator[WebhookServer]:
    with WebhookServer(tmp_path) as server:
        server.replies["/convert"] = review
        yield server


def define(group: Group, webhook: WebhookServer, stored: str = "v1") -> None:
    conversion = {
        "strategy": "Webhook",
        "webhook": {"conversionReviewVersions": ["v7", "v1"], "clientConfig": webhook.client_config("/convert")},
    }
    assert group.define(versions=versions(stored), conversion=conversion).status == 201


def test_every_version_reads_and_writes_what_is_stored_in_one(group: Group, webhook: WebhookServer) -> None:
    define(group, webhook)
    assert group.call("POST", group.path("foos"), group.object("a", spec={"size": "3in"})).status == 201
    assert group.call("GET", group.path("foos/a", "v2")).body["spec"] == {"width": 3, "unit": "in"}
    written = group.call("POST", group.path("foos", "v2"), group.object("b", "v2", spec={"width": 5}))
    assert written.body["apiVersion"].endswith("/v2") and written.body["spec"] == {"width": 5, "unit": "cm"}
    listed = group.call("GET", group.path("foos")).body["items"]
    assert [item["spec"] for item in listed] == [{"size": "3in"}, {"size": "5cm"}]
    patched = group.patch("foos/a", {"spec": {"width": 4}}, version="v2")
    assert patched.body["spec"] == {"width": 4, "unit": "in"}
    assert group.call("GET", group.path("foos/a")).body["spec"] == {"size": "4in"}
    assert group.call("DELETE", group.path("foos/a", "v2")).status == 200
    assert [item["metadata"]["name"] for item in group.call("GET", group.path("foos", "v2")).body["items"]] == ["b"]


def test_the_review_says_what_is_wanted(group: Group, webhook: WebhookServer) -> None:
    define(group, webhook)
    group.call("POST", group.path("foos"), group.object("a", spec={"size": "3in"}))
    webhook.taken()
    assert group.call("GET", group.path("foos/a", "v2")).status == 200
    path, sent = webhook.taken()[0]
    assert (path, sent["apiVersion"], sent["kind"]) == ("/convert", "apiextensions.k8s.io/v1", "ConversionReview")
    assert sent["request"]["desiredAPIVersion"] == f"{group.name}/v2"
    assert [obj["apiVersion"] for obj in sent["request"]["objects"]] == [f"{group.name}/v1"]


def test_a_watch_shows_events_in_its_version(group: Group, webhook: WebhookServer, shared_server: Server) -> None:
    define(group, webhook)
    revision = group.call("GET", group.path("foos", "v2")).body["metadata"]["resourceVersion"]
    with shared_server.client() as watcher:
        events = watcher.send("GET", group.path("foos", "v2") + f"?watch=1&resourceVersion={revision}")
        for number in range(3):
            group.call("POST", group.path("foos"), group.object(f"w{number}", spec={"size": f"{number}in"}))
        group.call("DELETE", group.path("foos/w0"))
        seen = [json.loads(events.readline()) for _ in range(4)]
    assert [(e["type"], e["object"]["metadata"]["name"], e["object"]["spec"]["width"]) for e in seen] == [
        ("ADDED", "w0", 0),
        ("ADDED", "w1", 1),
        ("ADDED", "w2", 2),
        ("DELETED", "w0", 0),
    ]


def test_labels_may_be_changed_and_nothing_else_of_the_metadata(group: Group, webhook: WebhookServer) -> None:
    def relabel(request: Any) -> Any:
        answered = review(request)
        for obj in answered["response"]["convertedObjects"]:
            obj["metadata"] |= {"labels": {"converted": "yes"}, "finalizers": ["example.com/sneaky"]}
        return answered

    define(group, webhook)
    group.call("POST", group.path("foos"), group.object("a", spec={"size": "3in"}))
    webhook.replies["/convert"] = relabel
    metadata = group.call("GET", group.path("foos/a", "v2")).body["metadata"]
    assert metadata["labels"] == {"converted": "yes"} and "finalizers" not in metadata


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (answering(uid="other"), 'failed: expected response.uid="'),
        (answering(result={"status": "Failure", "message": "too wide"}), "failed: too wide"),
        (answering(result={}), "failed: response.result.status was '', not 'Success'"),
        (answering(convertedObjects=[]), "returned 0 objects, expected 1"),
        (answering(convertedObjects=[7]), "returned invalid converted object at index 0: "),
        (lambda _: (500, b"boom"), "failed: an error on the server"),
        (lambda _: (200, b"not json"), "failed: couldn't get version/kind; json parse error: "),
    ],
)
def test_a_failed_conversion_is_told_and_loses_nothing(
    group: Group, webhook: WebhookServer, reply: Any, problem: str
) -> None:
    define(group, webhook)
    group.call("POST", group.path("foos"), group.object("a", spec={"size": "3in"}))
    webhook.replies["/convert"] = reply
    read = group.call("GET", group.path("foos/a", "v2"))
    assert read.status == 500 and f"conversion webhook for {group.name}/v1, Kind=Foo {problem}" in read.body["message"]
    write = group.call("POST", group.path("foos", "v2"), group.object("b", "v2", spec={"width": 5}))
    assert (
        write.status == 500 and f"conversion webhook for {group.name}/v2, Kind=Foo {problem}" in write.body["message"]
    )
    assert group.call("GET", group.path("foos/a")).body["spec"] == {"size": "3in"}
    webhook.replies["/convert"] = review
    assert group.call("GET", group.path("foos/a", "v2")).body["spec"] == {"width": 3, "unit": "in"}
    assert group.call("GET", group.path("foos/b", "v2")).status == 404


def test_a_write_that_changes_nothing_moves_an_object_to_the_new_storage_version(
    group: Group, webhook: WebhookServer
) -> None:
    define(group, webhook)
    group.call("POST", group.path("foos"), group.object("a", spec={"size": "3in"}))
    change = {"spec": {"versions": versions("v2")}}
    assert group.call("PATCH", f"{DEFINITIONS}/foos.{group.name}", change, content_type=MERGE).status == 200
    before = group.call("GET", group.path("foos/a", "v2")).body
    after = group.call("PUT", group.path("foos/a", "v2"), before).body
    assert after["metadata"]["resourceVersion"] != before["metadata"]["resourceVersion"]
    webhook.taken()
    assert group.call("GET", group.path("foos/a", "v2")).body["spec"] == {"width": 3, "unit": "in"}
    assert webhook.taken() == []


def test_a_function_of_this_process_converts_in_place_of_a_webhook(
    tmp_path: Path, new_server: Callable[..., Server]
) -> None:
    (tmp_path / "widths.py").write_text(
        "def convert(obj, api_version):\n"
        "    spec = obj['spec']\n"
        "    wide = api_version.endswith('/v2')\n"
        "    obj['spec'] = {'width': int(spec['size'][:-2])} if wide else {'size': f\"{spec['width']}cm\"}\n"
        "    return obj\n"
    )
    flags = ("--conversion-function", "foos.example.com=widths:convert")
    server = new_server(*flags, environment={"PYTHONPATH": str(tmp_path)}).start()
    with server.client() as client:
        group = Group(client, "example.com", "default")
        assert group.define(versions=versions("v1")).status == 201
        assert group.create("a", spec={"size": "3cm"}).status == 201
        assert group.get("foos/a", "v2").body["spec"] == {"width": 3}


def test_a_function_that_is_not_there_stops_the_start(new_server: Callable[..., Server]) -> None:
    server = new_server("--conversion-function", "foos.example.com=nosuch:convert").launch()
    assert server.exit_status() == 1
    assert "cannot load nosuch:convert: No module named 'nosuch'" in server.said
