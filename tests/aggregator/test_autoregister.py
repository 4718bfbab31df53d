"""API services that come and go by themselves: those of custom resources, and the built-in ones at the start."""

from __future__ import annotations

import time
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.server_process import PATIENCE, Client, Server

SERVICES = "/apis/apiregistration.k8s.io/v1/apiservices"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AUTOMANAGED = "kube-aggregator.kubernetes.io/automanaged"


@pytest.fixture
def client(shared_server: Server) -> Iterator[Client]:
    with shared_server.client() as found:
        yield found


@pytest.fixture
def group(client: Client) -> Iterator[str]:
    name = f"r{uuid.uuid4().hex[:10]}.example.com"
    yield name
    for item in client.get(DEFINITIONS)["items"]:
        if item["spec"]["group"] == name:
            client.call("DELETE", f"{DEFINITIONS}/{item['metadata']['name']}")


def definition(group: str, plural: str = "foos", **served: bool) -> dict[str, Any]:
    schema = {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}}
    versions = [
        {"name": name, "served": is_served, "storage": first, "schema": schema}
        for first, (name, is_served) in zip([True, False, False], (served or {"v1": True}).items(), strict=False)
    ]
    names = {"plural": plural, "kind": plural.capitalize()}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"},
        "spec": {"group": group, "scope": "Namespaced", "names": names, "versions": versions},
    }


def until(client: Client, path: str, holds: Callable[[int, Any], bool]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while True:
        status, body = client.call("GET", path)
        if holds(status, body):
            return body
        assert time.monotonic() < deadline, body


def present(status: int, _: Any) -> bool:
    return status == 200


def absent(status: int, _: Any) -> bool:
    return status == 404


def test_a_definition_brings_an_api_service_for_each_served_version(client: Client, group: str) -> None:
    client.create(DEFINITIONS, definition(group, v1=True, v1beta1=True, v1alpha1=False))
    for version in ("v1", "v1beta1"):
        found = until(client, f"{SERVICES}/{version}.{group}", present)
        assert found["metadata"]["labels"] == {AUTOMANAGED: "true"}
        assert found["spec"] == {
            "group": group,
            "version": version,
            "groupPriorityMinimum": 1000,
            "versionPriority": 100,
        }
        (condition,) = found["status"]["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == ("Available", "True", "Local")
    assert client.call("GET", f"{SERVICES}/v1alpha1.{group}")[0] == 404


def test_an_api_service_stays_until_the_last_definition_of_its_version_is_gone(client: Client, group: str) -> None:
    client.create(DEFINITIONS, definition(group, "foos"))
    client.create(DEFINITIONS, definition(group, "bars"))
    before = until(client, f"{SERVICES}/v1.{group}", present)
    client.call("DELETE", f"{DEFINITIONS}/foos.{group}")
    until(client, f"{DEFINITIONS}/foos.{group}", absent)
    assert client.get(f"{SERVICES}/v1.{group}")["metadata"]["uid"] == before["metadata"]["uid"]
    client.call("DELETE", f"{DEFINITIONS}/bars.{group}")
    until(client, f"{SERVICES}/v1.{group}", absent)


def test_a_version_that_is_served_no_more_loses_its_api_service(client: Client, group: str) -> None:
    client.create(DEFINITIONS, definition(group, v1=True, v2=True))
    until(client, f"{SERVICES}/v2.{group}", present)
    patch = [{"op": "replace", "path": "/spec/versions/1/served", "value": False}]
    status, _ = client.call("PATCH", f"{DEFINITIONS}/foos.{group}", patch, content_type="application/json-patch+json")
    assert status == 200
    until(client, f"{SERVICES}/v2.{group}", absent)
    assert client.call("GET", f"{SERVICES}/v1.{group}")[0] == 200


def test_an_api_service_of_a_definition_comes_back_and_is_put_right(client: Client, group: str) -> None:
    client.create(DEFINITIONS, definition(group))
    path = f"{SERVICES}/v1.{group}"
    first = until(client, path, present)
    client.call("DELETE", path)
    second = until(client, path, present)
    assert second["metadata"]["uid"] != first["metadata"]["uid"]
    status, _ = client.call(
        "PATCH", path, {"spec": {"versionPriority": 7}}, content_type="application/merge-patch+json"
    )
    assert status == 200
    until(client, path, lambda _, body: body["spec"]["versionPriority"] == 100)


def test_an_api_service_without_the_label_is_left_alone_and_told_of_once(client: Client, group: str) -> None:
    own = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1.{group}"},
        "spec": {"group": group, "version": "v1", "groupPriorityMinimum": 5, "versionPriority": 5},
    }
    client.create(SERVICES, own)
    client.create(DEFINITIONS, definition(group, v1=True, v2=True))
    until(client, f"{SERVICES}/v2.{group}", present)
    assert client.get(f"{SERVICES}/v1.{group}")["spec"]["versionPriority"] == 5
    assert [v["version"] for v in client.get(f"/apis/{group}")["versions"]] == ["v2", "v1"]
    client.call("DELETE", f"{SERVICES}/v1.{group}")
    assert until(client, f"{SERVICES}/v1.{group}", present)["metadata"]["labels"] == {AUTOMANAGED: "true"}


def test_a_remote_api_service_that_turns_local_is_available(client: Client) -> None:
    group = f"r{uuid.uuid4().hex[:10]}.example.com"
    remote = {
        "apiVersion": "apiregistration.k8s.io/v1",
        "kind": "APIService",
        "metadata": {"name": f"v1.{group}"},
        "spec": {
            "group": group,
            "version": "v1",
            "groupPriorityMinimum": 5,
            "versionPriority": 5,
            "service": {"namespace": "default", "name": "nosuch"},
            "insecureSkipTLSVerify": True,
        },
    }
    client.create(SERVICES, remote)
    path = f"{SERVICES}/v1.{group}"
    try:
        until(client, path, lambda _, b: b["status"].get("conditions", [{}])[0].get("reason") == "ServiceNotFound")
        patch = {"spec": {"service": None, "insecureSkipTLSVerify": None}}
        client.call("PATCH", path, patch, content_type="application/merge-patch+json")
        until(client, path, lambda _, b: b["status"]["conditions"][0]["reason"] == "Local")
    finally:
        client.call("DELETE", path)


def test_a_start_puts_right_what_changed_while_the_server_was_down(new_server: Callable[..., Server]) -> None:
    server = new_server().start()
    with server.client() as client:
        client.create(DEFINITIONS, definition("left.example.com"))
        until(client, f"{SERVICES}/v1.left.example.com", present)
        stale = {
            "apiVersion": "apiregistration.k8s.io/v1",
            "kind": "APIService",
            "metadata": {"name": "v9.gone.example.com", "labels": {AUTOMANAGED: "onstart"}},
            "spec": {"group": "gone.example.com", "version": "v9", "groupPriorityMinimum": 5, "versionPriority": 5},
        }
        client.create(SERVICES, stale)
        client.call("DELETE", f"{SERVICES}/v1.apps")
        assert client.call("GET", f"{SERVICES}/v1.apps")[0] == 404
        patch = {"spec": {"versionPriority": 7}}
        client.call("PATCH", f"{SERVICES}/v1.batch", patch, content_type="application/merge-patch+json")
    server.stop()
    server.start()
    with server.client() as client:
        assert client.text("/readyz/autoregister-completion") == (200, "ok")
        assert client.get(f"{SERVICES}/v1.apps")["metadata"]["labels"] == {AUTOMANAGED: "onstart"}
        assert client.get(f"{SERVICES}/v1.batch")["spec"]["versionPriority"] == 15
        until(client, f"{SERVICES}/v9.gone.example.com", absent)
        assert client.call("GET", f"{SERVICES}/v1.left.example.com")[0] == 200
