"""Namespaces: the content of one that is being deleted goes, pods first, and then the namespace itself."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.gvk import GroupVersion
from kapi.api.objects import Object
from kapi.controllers.informer import Informers
from kapi.controllers.work_queue import WorkQueue
from kapi.endpoints.discovery import GroupVersionEntry

NAMESPACES = "/api/v1/namespaces"
FINALIZER = "kubernetes"
AT_ONCE = 64
PAGE = 500
# What holds finalizers, or is still on its way out, is looked at again.
AGAIN_SECONDS = 0.5
_NEEDED = frozenset(("list", "delete"))


class NamespaceController:
    def __init__(self, client: Client, clock: Clock, served: Callable[[], Iterable[GroupVersionEntry]]) -> None:
        self._client = client
        self._clock = clock
        self._served = served
        self._queue: WorkQueue

    def start(self, informers: Informers) -> WorkQueue:
        namespaces = informers.of(NAMESPACES)

        async def reconcile(name: str) -> None:
            found = namespaces.objects.get(name)
            if found is not None and found["metadata"].get("deletionTimestamp"):
                await self._finish(name, found)

        self._queue = WorkQueue("namespaces", reconcile)
        namespaces.listen(lambda key, found: self._queue.add(key) if found is not None else None)
        return self._queue

    async def _finish(self, name: str, namespace: Object) -> None:
        if FINALIZER not in (namespace.get("spec", {}).get("finalizers") or ()):
            return
        left = await self._empty(name)
        if left:
            await self._report(name, left)
            self._queue.add_after(name, AGAIN_SECONDS)
            return
        current = await self._client.get(f"{NAMESPACES}/{name}")
        finalizers = [f for f in current.get("spec", {}).get("finalizers") or () if f != FINALIZER]
        await self._client.update(f"{NAMESPACES}/{name}/finalize", {**current, "spec": {"finalizers": finalizers}})

    async def _empty(self, namespace: str) -> dict[str, list[Object]]:
        """Delete all content; what is left of it, by resource."""
        left: dict[str, list[Object]] = {}
        for resource, path in self._paths(namespace):
            remaining = await self._delete_all(path)
            if remaining:
                left[resource] = remaining
                if resource == "pods":
                    break  # as upstream: what pods use stays while they run
        return left

    def _paths(self, namespace: str) -> list[tuple[str, str]]:
        found: dict[str, str] = {}
        for entry in self._served():
            for resource in entry.resources:
                if resource.namespaced and set(resource.verbs) >= _NEEDED:
                    name = f"{resource.plural}.{entry.group_version.group}".rstrip(".")
                    found.setdefault(name, f"{_root(entry.group_version)}/namespaces/{namespace}/{resource.plural}")
        return sorted(found.items(), key=lambda item: item[0] != "pods")

    async def _delete_all(self, path: str) -> list[Object]:
        items: list[Object] = (await self._client.list(path))["items"]
        if not items:
            return []
        for start in range(0, len(items), AT_ONCE):
            await asyncio.gather(*(self._delete(path, item) for item in items[start : start + AT_ONCE]))
        remaining: list[Object] = (await self._client.list(path, limit=str(PAGE)))["items"]
        return remaining

    async def _delete(self, path: str, item: Object) -> None:
        if item["metadata"].get("deletionTimestamp") and item["metadata"].get("finalizers"):
            return  # it waits for someone else
        try:
            options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
            await self._client.delete(f"{path}/{item['metadata']['name']}", options)
        except (errors.NotFound, errors.Conflict):
            return

    async def _report(self, name: str, left: dict[str, list[Object]]) -> None:
        current = await self._client.get(f"{NAMESPACES}/{name}")
        wanted = _conditions(left)
        status = current.setdefault("status", {})
        present = {c["type"]: c for c in status.get("conditions") or ()}
        changed = False
        for condition in wanted:
            before = present.get(condition["type"])
            if before is None or {k: v for k, v in before.items() if k != "lastTransitionTime"} != condition:
                present[condition["type"]] = {**condition, "lastTransitionTime": rfc3339(self._clock.now())}
                changed = True
        if changed:
            status["conditions"] = list(present.values())
            await self._client.update(f"{NAMESPACES}/{name}/status", current)


def _root(group_version: GroupVersion) -> str:
    return f"/apis/{group_version}" if group_version.group else f"/api/{group_version.version}"


def _conditions(left: dict[str, list[Object]]) -> list[Object]:
    """What is left and what it waits for, in upstream's words."""
    remaining = ", ".join(f"{name} has {len(items)} resource instances" for name, items in sorted(left.items()))
    finalizers: dict[str, int] = {}
    for items in left.values():
        for item in items:
            for finalizer in item["metadata"].get("finalizers") or ():
                finalizers[finalizer] = finalizers.get(finalizer, 0) + 1
    waiting = ", ".join(f"{name} in {count} resource instances" for name, count in sorted(finalizers.items()))
    return [
        {
            "type": "NamespaceDeletionDiscoveryFailure",
            "status": "False",
            "reason": "ResourcesDiscovered",
            "message": "All resources successfully discovered",
        },
        {
            "type": "NamespaceDeletionGroupVersionParsingFailure",
            "status": "False",
            "reason": "ParsedGroupVersions",
            "message": "All legacy kube types successfully parsed",
        },
        {
            "type": "NamespaceDeletionContentFailure",
            "status": "False",
            "reason": "ContentDeleted",
            "message": "All content successfully deleted, may be waiting on finalization",
        },
        {
            "type": "NamespaceContentRemaining",
            "status": "True",
            "reason": "SomeResourcesRemain",
            "message": f"Some resources are remaining: {remaining}",
        },
        {
            "type": "NamespaceFinalizersRemaining",
            "status": "True" if waiting else "False",
            "reason": "SomeFinalizersRemain" if waiting else "ContentHasNoFinalizers",
            "message": f"Some content in the namespace has finalizers remaining: {waiting}"
            if waiting
            else "All content-preserving finalizers finished",
        },
    ]
