"""Garbage collection: what lost all its owners goes; owners wait for their dependents or let them go, as was asked."""

from __future__ import annotations

import asyncio

from kapi.api import errors
from kapi.api.clock import rfc3339
from kapi.api.objects import Object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import DEFINITIONS
from kapi.controllers.owner_graph import FOREGROUND, ORPHAN, Node, Owner, OwnerGraph, Place, owners_of
from kapi.controllers.work_queue import WorkQueue
from kapi.telemetry.log import log

_WORKERS = 32
_TRIES = 5
# A definition is served a moment after it was stored.
_DEFINED_SECONDS = 1.0


class _Unresolved(errors.ServiceUnavailable):
    """An owner is of a kind that is not served: it may be, once a definition comes."""


class _OutOfReach(Exception):
    """An owner in a namespace, of an object in none: such an owner is never looked for."""


class GarbageCollector:
    def __init__(self, context: Context) -> None:
        self._client = context.client
        self._clock = context.clock
        self._resources = context.resources
        self._informers = context.informers
        self._deletions = WorkQueue(names.GARBAGE_COLLECTOR, self._attempt_to_delete, _WORKERS)
        self._orphans = WorkQueue(f"{names.GARBAGE_COLLECTOR}/orphans", self._orphan)
        self.graph = OwnerGraph(self._consider, self._orphans.add)
        self._unresolved: set[str] = set()
        self._resolving = False

    def start(self) -> list[WorkQueue]:
        self._informers.listen_to_all(self.graph.changed, self.graph.restarted)
        self._informers.of(DEFINITIONS).listen(lambda _: self._resolve_soon())
        return [self._deletions, self._orphans]

    def _consider(self, uid: str) -> None:
        if not self._is_settled(self.graph.nodes[uid]):
            self._deletions.add(uid)

    def _is_settled(self, node: Node) -> bool:
        """Most objects have owners that are known to be there: nothing is to be done then."""
        return not node.waits and self.graph.is_settled(node, (self._place(node, owner) for owner in node.owners))

    def _place(self, node: Node, owner: Owner) -> Place | None:
        """Where an owner has to be: in the namespace of what it owns, or in none."""
        served = self._resources.of_kind(owner.api_version, owner.kind)
        if served is None:
            return None
        return Place(served.group_resource, node.place.namespace if served.namespaced else "", owner.name)

    def _resolve_soon(self) -> None:
        if not self._resolving:
            self._resolving = True
            asyncio.get_running_loop().call_later(_DEFINED_SECONDS, self._resolve)

    def _resolve(self) -> None:
        self._resolving = False
        waiting, self._unresolved = self._unresolved, set()
        for uid in waiting:
            self._deletions.add(uid)

    # Deleting

    async def _attempt_to_delete(self, uid: str) -> None:
        await self._informers.listed.wait()
        node = self.graph.nodes.get(uid)
        if node is None or (node.deleting and node.waits != FOREGROUND) or self._is_settled(node):
            return
        try:
            latest = await self._latest(node)
            if latest is None:
                self.graph.missing(node)
            elif node.waits == FOREGROUND:
                await self._delete_dependents(node, latest)
            else:
                await self._delete_unless_owned(node, latest)
        except _Unresolved:
            self._unresolved.add(uid)
            if len(self._unresolved) > len(self.graph.nodes):
                self._unresolved &= self.graph.nodes.keys()
        except _OutOfReach as error:
            await self._warn(node, str(error))

    async def _latest(self, node: Node) -> Object | None:
        latest = await self._get(self._path(node.place))
        return latest if latest is not None and latest["metadata"].get("uid") == node.uid else None

    async def _get(self, path: str) -> Object | None:
        """The object, or None if it is not there. A resource that is not there says nothing about its objects."""
        try:
            return await self._client.get(path)
        except errors.NotFound as error:
            if (error.details or {}).get("name"):
                return None
            raise _Unresolved(path) from error

    def _path(self, place: Place) -> str:
        served = self._resources.find(place.resource)
        if served is None:
            raise _Unresolved(str(place.resource))
        return served.path(place.namespace, place.name)

    async def _delete_dependents(self, node: Node, latest: Object) -> None:
        """Foreground: the owner goes after the dependents that block it."""
        if not latest["metadata"].get("deletionTimestamp"):
            return
        blocking = self.graph.blocking(node.uid)
        if not blocking:
            await self._remove_finalizer(self._path(node.place), node.uid, FOREGROUND)
            return
        for dependent in blocking:
            if dependent.waits != FOREGROUND:
                self._deletions.add(dependent.uid)

    async def _delete_unless_owned(self, node: Node, latest: Object) -> None:
        owners = owners_of(latest["metadata"])
        if not owners:
            return
        solid, dangling, waiting = await self._classify(node, owners)
        if solid:
            lost = {owner.uid for owner in (*dangling, *waiting)}
            if lost:
                await self._keep_references(self._path(node.place), latest, lost)
            return
        dependents = self.graph.dependents(node.uid)
        if waiting and dependents:
            # As upstream: where owners depend on each other in a circle, one of them must not wait.
            if any(dependent.waits == FOREGROUND for dependent in dependents):
                await self._unblock(node, latest)
            await self._delete(node, latest, "Foreground")
            return
        finalizers = latest["metadata"].get("finalizers") or ()
        policy = "Orphan" if ORPHAN in finalizers else "Foreground" if FOREGROUND in finalizers else "Background"
        await self._delete(node, latest, policy)

    async def _classify(self, node: Node, owners: tuple[Owner, ...]) -> tuple[list[Owner], list[Owner], list[Owner]]:
        """The owners that are there, those that are not, and those that wait for their dependents to go."""
        solid: list[Owner] = []
        dangling: list[Owner] = []
        waiting: list[Owner] = []
        for owner in owners:
            found = await self._owner(node, owner)
            if found is None:
                dangling.append(owner)
            elif _waits(found["metadata"]):
                waiting.append(owner)
            else:
                solid.append(owner)
        return solid, dangling, waiting

    async def _owner(self, node: Node, owner: Owner) -> Object | None:
        place = self._place(node, owner)
        if place is None:
            raise _Unresolved(f"{owner.api_version} {owner.kind}")
        served = self._resources.find(place.resource)
        if served is not None and served.namespaced and not place.namespace:
            raise _OutOfReach(_invalid(owner, node))
        if self.graph.is_absent(owner.uid, place):
            return None
        self.graph.look_for(owner.uid, place)
        found = await self._get(self._path(place))
        there = found is not None and found["metadata"].get("uid") == owner.uid
        self.graph.found(owner.uid, place, there=there)
        if there:
            return found
        if self.graph.is_elsewhere(owner.uid, place):
            await self._warn(node, _invalid(owner, node))
        return None

    async def _delete(self, node: Node, latest: Object, policy: str) -> None:
        metadata = latest["metadata"]
        options = {
            "apiVersion": "v1",
            "kind": "DeleteOptions",
            "preconditions": {"uid": node.uid, "resourceVersion": metadata["resourceVersion"]},
            "propagationPolicy": policy,
        }
        try:
            await self._client.delete(self._path(node.place), options)
        except errors.NotFound:
            return

    # Letting go

    async def _orphan(self, uid: str) -> None:
        # A dependent that is not known yet would keep its reference, and be deleted for want of that owner.
        await self._informers.listed.wait()
        node = self.graph.nodes.get(uid)
        if node is None or node.waits != ORPHAN:
            return
        dependents = self.graph.dependents(uid)
        for start in range(0, len(dependents), _WORKERS):
            some = dependents[start : start + _WORKERS]
            results = await asyncio.gather(*(self._let_go(d, uid) for d in some), return_exceptions=True)
            for failure in results:
                if failure is not None:
                    raise failure
        await self._remove_finalizer(self._path(node.place), uid, ORPHAN)

    async def _let_go(self, dependent: Node, uid: str) -> None:
        for left in reversed(range(_TRIES)):
            latest = await self._latest(dependent)
            if latest is None:
                return
            try:
                await self._keep_references(self._path(dependent.place), latest, {uid})
                return
            except errors.Conflict:
                if not left:
                    raise

    async def _keep_references(self, path: str, latest: Object, without: set[str]) -> None:
        """Drop references to owners that are no more, or should no longer count."""
        references = latest["metadata"].get("ownerReferences") or []
        kept = [reference for reference in references if reference.get("uid") not in without]
        if kept != references:
            await self._patch(path, latest, {"ownerReferences": kept or None})

    async def _unblock(self, node: Node, latest: Object) -> None:
        references = latest["metadata"].get("ownerReferences") or []
        kept = [{**r, "blockOwnerDeletion": False} if r.get("blockOwnerDeletion") else r for r in references]
        changed = await self._patch(self._path(node.place), latest, {"ownerReferences": kept})
        latest["metadata"] = changed["metadata"]

    async def _patch(self, path: str, latest: Object, change: Object) -> Object:
        metadata = latest["metadata"]
        held = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
        return await self._client.patch(path, {"metadata": {**held, **change}})

    async def _remove_finalizer(self, path: str, uid: str, finalizer: str) -> None:
        for left in reversed(range(_TRIES)):
            try:
                latest = await self._client.get(path)
                finalizers = latest["metadata"].get("finalizers") or []
                if latest["metadata"].get("uid") != uid or finalizer not in finalizers:
                    return
                await self._patch(path, latest, {"finalizers": [f for f in finalizers if f != finalizer]})
                return
            except errors.NotFound:
                return
            except errors.Conflict:
                if not left:
                    raise

    async def _warn(self, node: Node, message: str) -> None:
        """An Event, as upstream reports references that nobody can follow."""
        place, served = node.place, self._resources.find(node.place.resource)
        now = rfc3339(self._clock.now())
        namespace = place.namespace or "default"
        event = {
            "metadata": {"name": f"{place.name}.{int(self._clock.now() * 1e9):x}", "namespace": namespace},
            "involvedObject": {
                "apiVersion": str(served.group_version) if served is not None else "",
                "kind": served.kind if served is not None else "",
                "namespace": place.namespace,
                "name": place.name,
                "uid": node.uid,
            },
            "type": "Warning",
            "reason": "OwnerRefInvalidNamespace",
            "message": message,
            "source": {"component": names.GARBAGE_COLLECTOR},
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
        }
        try:
            await self._client.create(f"/api/v1/namespaces/{namespace}/events", event)
        except errors.APIError as error:
            log.debug(2, "event_not_recorded", error=error.message)


def _waits(metadata: Object) -> bool:
    return bool(metadata.get("deletionTimestamp")) and FOREGROUND in (metadata.get("finalizers") or ())


def _invalid(owner: Owner, node: Node) -> str:
    namespace = node.place.namespace
    shown = f"[{owner.api_version}/{owner.kind}, namespace: {namespace}, name: {owner.name}, uid: {owner.uid}]"
    return f'ownerRef {shown} does not exist in namespace "{namespace}"'


def start(context: Context) -> list[WorkQueue]:
    return GarbageCollector(context).start()
