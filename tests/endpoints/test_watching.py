"""Watches of resources that nobody has looked at yet: their caches are filled when they are asked for."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from tests.server_process import Client, Server

NewServer = Callable[..., Server]
NAMESPACE = "/api/v1/namespaces/default"
REVISIONS = "/apis/apps/v1/namespaces/default/controllerrevisions"


def watched(client: Client, path: str, after: str) -> list[tuple[str, Any]]:
    _, text = client.text(f"{path}?watch=1&timeoutSeconds=1&resourceVersion={after}")
    events = [json.loads(line) for line in text.splitlines()]
    return [(event["type"], event["object"].get("code") or event["object"]["metadata"]["name"]) for event in events]


def revision(name: str) -> Any:
    return {"metadata": {"name": name}, "revision": 1, "data": {}}


def test_a_cache_that_is_filled_late_keeps_no_event_from_a_watch(new_server: NewServer) -> None:
    with new_server().start().client() as client:
        position = client.create(f"{NAMESPACE}/configmaps", {"metadata": {"name": "a"}})["metadata"]["resourceVersion"]
        client.create(REVISIONS, revision("first"))
        client.create(REVISIONS, revision("second"))
        status, _ = client.call("DELETE", f"{REVISIONS}/first")
        assert status == 200
        seen = [("ADDED", "first"), ("ADDED", "second"), ("DELETED", "first")]
        assert watched(client, REVISIONS, position) == seen
        assert len(client.get(REVISIONS)["items"]) == 1
        assert watched(client, REVISIONS, position) == seen, "the cache has been filled since"


def test_what_was_before_the_server_served_is_too_old(new_server: NewServer) -> None:
    with new_server().start().client() as client:
        client.create(REVISIONS, revision("first"))
        assert watched(client, REVISIONS, "1") == [("ERROR", 410)]
