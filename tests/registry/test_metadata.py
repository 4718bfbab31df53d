"""Metadata on update: what the server sets is not the client's to change."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from tests.server_process import Client, Server

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = {"content_type": "application/merge-patch+json"}


@pytest.fixture
def client(shared_server: Server) -> Iterator[Client]:
    with shared_server.client() as client:
        yield client


@pytest.fixture
def path(client: Client) -> Iterator[str]:
    name = f"m-{uuid.uuid4().hex[:8]}"
    client.create(MAPS, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}})
    yield f"{MAPS}/{name}"
    client.call("DELETE", f"{MAPS}/{name}")


def test_nobody_marks_an_object_as_deleted_by_an_update(client: Client, path: str) -> None:
    marked = {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z", "deletionGracePeriodSeconds": 5}}
    status, answer = client.call("PATCH", path, marked, **MERGE)
    assert status == 422
    assert [f"{cause['field']}: {cause['message']}" for cause in answer["details"]["causes"]] == [
        'metadata.deletionTimestamp: Invalid value: "2030-01-01T00:00:00Z": field is immutable',
        "metadata.deletionGracePeriodSeconds: Invalid value: 5: field is immutable",
    ]


def test_when_an_object_was_made_stays_whatever_an_update_says(client: Client, path: str) -> None:
    _, made = client.call("GET", path)
    status, answer = client.call("PATCH", path, {"metadata": {"creationTimestamp": "2001-01-01T00:00:00Z"}}, **MERGE)
    assert (status, answer["metadata"]["creationTimestamp"]) == (200, made["metadata"]["creationTimestamp"])


def test_a_status_is_written_whatever_else_its_writer_thinks_of_the_object(client: Client) -> None:
    ranges = "/apis/networking.k8s.io/v1/servicecidrs"
    name = f"m-{uuid.uuid4().hex[:8]}"
    spec = {"cidrs": ["198.51.100.128/28"]}
    body = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": name}, "spec": spec}
    client.create(ranges, body)
    try:
        marked = {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z", "labels": {"a": "b"}}}
        status, answer = client.call("PATCH", f"{ranges}/{name}/status", marked, **MERGE)
        assert status == 200 and not answer["metadata"].keys() & {"deletionTimestamp", "labels"}
        graced = {"metadata": {"deletionGracePeriodSeconds": 5}}
        assert client.call("PATCH", f"{ranges}/{name}/status", graced, **MERGE)[0] == 422
    finally:
        client.call("DELETE", f"{ranges}/{name}")
