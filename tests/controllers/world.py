"""What the tests of controllers do: make objects, delete them, and wait until the controllers have done their part."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

from tests.server_process import Client, Server

Object = dict[str, Any]
GROUPS = {
    "namespaces": "/api/v1",
    "pods": "/api/v1",
    "configmaps": "/api/v1",
    "secrets": "/api/v1",
    "services": "/api/v1",
    "serviceaccounts": "/api/v1",
    "resourcequotas": "/api/v1",
    "persistentvolumeclaims": "/api/v1",
    "persistentvolumes": "/api/v1",
    "events": "/api/v1",
    "replicationcontrollers": "/api/v1",
    "replicasets": "/apis/apps/v1",
    "deployments": "/apis/apps/v1",
    "jobs": "/apis/batch/v1",
    "poddisruptionbudgets": "/apis/policy/v1",
    "clusterroles": "/apis/rbac.authorization.k8s.io/v1",
    "volumeattributesclasses": "/apis/storage.k8s.io/v1",
    "customresourcedefinitions": "/apis/apiextensions.k8s.io/v1",
}
CLUSTER_SCOPED = (
    "namespaces",
    "persistentvolumes",
    "clusterroles",
    "volumeattributesclasses",
    "customresourcedefinitions",
)


class World:
    """Paths are short here: `pods/a` is pod a in the namespace; a path that begins with a slash is whole."""

    def __init__(self, server: Server, client: Client, namespace: str) -> None:
        self.server = server
        self.client = client
        self.namespace = namespace

    def path(self, short: str) -> str:
        if short.startswith("/"):
            return short
        resource = short.partition("/")[0]
        scope = "" if resource in CLUSTER_SCOPED else f"/namespaces/{self.namespace}"
        return f"{GROUPS[resource]}{scope}/{short}"

    def create(self, short: str, body: Object) -> Object:
        created: Object = self.client.create(self.path(short), body)
        return created

    def get(self, short: str) -> Object:
        found: Object = self.client.get(self.path(short))
        return found

    def exists(self, short: str) -> bool:
        return self.client.call("GET", self.path(short))[0] == 200

    def delete(self, short: str, policy: str | None = None, **options: Any) -> int:
        body = {"apiVersion": "v1", "kind": "DeleteOptions", **options}
        if policy is not None:
            body["propagationPolicy"] = policy
        return self.client.call("DELETE", self.path(short), body)[0]

    def patch(self, short: str, change: Object) -> Object:
        headers = {"content_type": "application/merge-patch+json"}
        status, patched = self.client.call("PATCH", self.path(short), change, **headers)
        assert status == 200, patched
        found: Object = patched
        return found

    def owned(self, short: str, name: str, *owners: Object, **more: Any) -> Object:
        """An object with nothing in it but owners."""
        return self.create(short, {"metadata": {"name": name, "ownerReferences": list(owners), **more}})

    def until(self, short: str, condition: Callable[[Object | None], bool]) -> Object | None:
        """The first state of an object (None when it is not there) that the condition holds for, told by a watch."""
        collection, _, name = self.path(short).rpartition("/")
        return self._until(collection, f"metadata.name={name}", condition)

    def until_event(self, made: Object) -> Object:
        """The first Event about what was made."""
        event = self._until("/api/v1/events", f"involvedObject.uid={made['metadata']['uid']}", lambda s: s is not None)
        assert event is not None
        return event

    def until_gone(self, short: str) -> None:
        self.until(short, lambda state: state is None)

    def _until(self, collection: str, field: str, condition: Callable[[Object | None], bool]) -> Object | None:
        selector = f"fieldSelector={quote(field)}"
        listing = self.client.get(f"{collection}?{selector}")
        state = next(iter(listing["items"]), None)
        if condition(state):
            return state
        version = listing["metadata"]["resourceVersion"]
        with self.server.client() as watcher:
            query = f"watch=1&timeoutSeconds=30&resourceVersion={version}&{selector}"
            for line in watcher.send("GET", f"{collection}?{query}"):
                event = json.loads(line)
                state = None if event["type"] == "DELETED" else event["object"]
                if condition(state):
                    return state
        raise AssertionError(f"it never came to that with {collection} {field}; last: {state}")


def owner(made: Object, *, blocks: bool | None = None, controls: bool | None = None) -> Object:
    """A reference to what was made."""
    reference = {
        "apiVersion": made["apiVersion"],
        "kind": made["kind"],
        "name": made["metadata"]["name"],
        "uid": made["metadata"]["uid"],
    }
    if blocks is not None:
        reference["blockOwnerDeletion"] = blocks
    if controls is not None:
        reference["controller"] = controls
    return reference
