"""The instances of a definition that is being deleted: each is deleted, and the last one to go is noticed."""

from __future__ import annotations

from collections.abc import Callable

from kapi.api.clock import Clock, rfc3339
from kapi.storage import kv
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.window import CacheEvent
from kapi.storage.objects import KEEP, Decision, ObjectStore, Query, Remove, Write


class Instances:
    """A Watcher of the instances, attached while some of them wait for their finalizers."""

    def __init__(self, objects: ObjectStore, clock: Clock, all_gone: Callable[[], None]) -> None:
        self.scope = objects.prefix
        self._objects = objects
        self._clock = clock
        self._all_gone = all_gone
        self._attached = False

    async def delete(self) -> bool:
        """Delete all that can go, mark the rest; whether none is left."""
        listing = await self._objects.list(Query(scope=self.scope))
        if not listing.entries:
            return True
        if not self._attached:
            self._attached = True
            self._objects.cacher.attach(self)
        for entry in listing.entries:
            try:
                await self._objects.update(entry.key, self._mark)
            except kv.NotFound:
                continue
        return not (await self._objects.list(Query(scope=self.scope))).entries

    async def _mark(self, entry: Entry | None) -> Decision:
        """As any delete: what has finalizers waits for them. No admission: nobody asked for this one."""
        assert entry is not None, "only what is there is deleted"
        decoded = entry.object
        metadata = decoded["metadata"]
        if not metadata.get("finalizers"):
            return Remove(self._objects.encode(decoded))
        if metadata.get("deletionTimestamp"):
            return KEEP
        metadata["deletionTimestamp"] = rfc3339(self._clock.now())
        metadata["deletionGracePeriodSeconds"] = 0
        metadata["generation"] = metadata.get("generation", 0) + 1
        return Write(self._objects.encode(decoded))

    def close(self) -> None:
        if self._attached:
            self._attached = False
            self._objects.cacher.detach(self)

    # Watcher

    def deliver(self, event: CacheEvent) -> None:
        if event.seen_by(None) == "DELETED" and not len(self._objects.cacher):
            self._all_gone()

    def ended(self, error: kv.StorageError | None) -> None:
        self._attached = False
        self._all_gone()
