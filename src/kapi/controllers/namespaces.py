"""Namespaces: the content of one that is being deleted goes, pods first, and then the namespace itself."""

from __future__ import annotations

import asyncio

from kapi.admission.resources import NAMESPACES, PODS
from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import rfc3339
from kapi.api.objects import Object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.namespace_conditions import Left, conditions
from kapi.controllers.resources import Served
from kapi.controllers.work_queue import WorkQueue

_NAMESPACES = "/api/v1/namespaces"
FINALIZER = "kubernetes"
_AT_ONCE = 64
_PAGE = 500
# What is left is looked at again soon after some of it went, the later the longer a look takes; if nobody tells, as
# often as upstream expects finalizers.
_SOON, _SOON_AT_MOST, _LOOKS, _LATER = 0.02, 1.0, 5, 15.0
_DELETED = b'"deletionTimestamp":"'


async def is_active(client: Client, namespace: str) -> bool:
    """Whether it is there and not being deleted."""
    try:
        found = await client.get(f"{_NAMESPACES}/{namespace}")
    except errors.NotFound:
        return False
    return not found["metadata"].get("deletionTimestamp")


class NamespaceController:
    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._resources = context.resources
        self._informers = context.informers
        self._queue = WorkQueue(names.NAMESPACE, self._reconcile)
        self._held: dict[str, float] = {}  # namespaces with content that stays, and how long a look at it took

    def start(self) -> list[WorkQueue]:
        self._informers.of(NAMESPACES).listen(self._namespace_changed)
        self._informers.listen_to_all(self._content_changed, lambda: None)
        return [self._queue]

    def _namespace_changed(self, change: Change) -> None:
        if change.value is None:
            self._held.pop(change.name, None)
        elif _DELETED in change.value:
            self._queue.add(change.name)

    def _content_changed(self, change: Change) -> None:
        took = self._held.get(change.namespace) if change.value is None else None
        if took is not None:
            self._queue.add_after(change.namespace, min(max(_SOON, _LOOKS * took), _SOON_AT_MOST))

    async def _reconcile(self, name: str) -> None:
        try:
            namespace = await self._client.get(f"{_NAMESPACES}/{name}")
        except errors.NotFound:
            return
        if not namespace["metadata"].get("deletionTimestamp"):
            return
        if FINALIZER in (namespace.get("spec", {}).get("finalizers") or ()):
            began = self._clock.monotonic()
            left = await self._empty(name)
            if left.remaining or left.failures:
                await self._wait(name, left, self._clock.monotonic() - began)
            else:
                await self._finalize(name)

    async def _finalize(self, name: str) -> None:
        try:
            current = await self._client.get(f"{_NAMESPACES}/{name}")
            if (current.get("status") or {}).get("conditions"):
                # Others may hold it longer: what was said of its content is no longer true.
                current = await self._report(current, Left())
            finalizers = [f for f in current.get("spec", {}).get("finalizers") or () if f != FINALIZER]
            await self._client.update(f"{_NAMESPACES}/{name}/finalize", {**current, "spec": {"finalizers": finalizers}})
        except errors.NotFound:
            return

    async def _wait(self, name: str, left: Left, took: float) -> None:
        self._held[name] = took
        await self._report(await self._client.get(f"{_NAMESPACES}/{name}"), left)
        if left.failures:
            raise next(iter(left.failures.values()))
        self._queue.add_after(name, _LATER)
        # Some of it may have gone before anyone listened.
        if not await self._still_there(name, left):
            self._queue.add(name)

    async def _still_there(self, name: str, left: Left) -> bool:
        counts = [await self._resources.count(served, name) for served in left.remaining]
        return all(
            count is None or count >= len(items) for count, items in zip(counts, left.remaining.values(), strict=True)
        )

    async def _empty(self, namespace: str) -> Left:
        """Delete all content; what is left of it."""
        left = Left()
        found = [served for served in self._resources.all() if served.namespaced and served.deletable]
        for served in sorted(found, key=lambda served: served.group_resource != PODS):
            if await self._resources.count(served, namespace) == 0:
                continue
            try:
                remaining = await self._delete_all(served, namespace)
            except errors.NotFound:
                continue  # the resource itself has gone
            except errors.APIError as error:
                left.failures[served] = error
                remaining = await self._list(served, namespace)
            if remaining:
                left.remaining[served] = remaining
                if served.group_resource == PODS:
                    break  # as upstream: what pods use stays while they run
        return left

    async def _delete_all(self, served: Served, namespace: str) -> list[Object]:
        """What has not gone at once. One that cannot be deleted keeps none of the others."""
        path, failure = served.path(namespace), None
        items = await self._list(served, namespace)
        for start in range(0, len(items), _AT_ONCE):
            some = items[start : start + _AT_ONCE]
            for result in await asyncio.gather(*(self._delete(path, m) for m in some), return_exceptions=True):
                if isinstance(result, errors.APIError):
                    failure = failure or result
                elif isinstance(result, BaseException):
                    raise result
        if failure is not None:
            raise failure
        return await self._list(served, namespace) if await self._resources.count(served, namespace) != 0 else []

    async def _list(self, served: Served, namespace: str) -> list[Object]:
        """The metadata of all objects: the rest of them is not held."""
        found: list[Object] = []
        more = {"limit": str(_PAGE)}
        while True:
            page = await self._client.list(served.path(namespace), **more)
            found += [item["metadata"] for item in page["items"]]
            token = page["metadata"].get("continue")
            if not token:
                return found
            more["continue"] = token

    async def _delete(self, path: str, metadata: Object) -> None:
        if metadata.get("deletionTimestamp"):
            return  # it waits for someone else
        options = {"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}
        try:
            await self._client.delete(f"{path}/{metadata['name']}", options)
        except (errors.NotFound, errors.Conflict):
            return

    async def _report(self, current: Object, left: Left) -> Object:
        status = current.setdefault("status", {})
        present = {c["type"]: c for c in status.get("conditions") or ()}
        now = rfc3339(self._clock.now())
        wanted = {}
        for condition in conditions(left):
            before = present.get(condition["type"], {})
            since = before["lastTransitionTime"] if before.get("status") == condition["status"] else now
            wanted[condition["type"]] = {**condition, "lastTransitionTime": since}
        if all(present.get(kind) == condition for kind, condition in wanted.items()):
            return current
        status["conditions"] = list({**present, **wanted}.values())
        return await self._client.update(f"{_NAMESPACES}/{current['metadata']['name']}/status", current)


def start(context: Context) -> list[WorkQueue]:
    return NamespaceController(context).start()
