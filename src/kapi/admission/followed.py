"""Configuration that is kept in step with the cache: the objects of some resources, by which requests are judged.

A change is here before the write that made it is answered (on an embedded store), so the very next request sees it.
"""

from __future__ import annotations

from collections.abc import Sequence

from kapi.admission.lookup import Lookup
from kapi.api.gvk import GroupResource
from kapi.registry.translate import storage_errors
from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.window import CacheEvent

_LOAD_SECONDS = 30.0


class Followed:
    """`stale` from the first change until `load` and `take`: what was made of the entries must be made anew."""

    def __init__(self, lookup: Lookup, *resources: GroupResource) -> None:
        self._lookup = lookup
        self._resources = resources
        self._cachers: list[Cacher] = []
        self.stale = True

    @property
    def loaded(self) -> bool:
        return bool(self._cachers)

    async def load(self) -> None:
        """Learn of all objects, and of every change from then on. Raises an APIError while the store is silent."""
        cachers = [self._lookup.stores[resource].objects.cacher for resource in self._resources]
        for resource, cacher in zip(self._resources, cachers, strict=True):
            with storage_errors(resource):
                await cacher.started(_LOAD_SECONDS)
        if not self._cachers:
            self._cachers = cachers
            for cacher in cachers:
                cacher.attach(_Watcher(self, cacher.prefix))

    def take(self) -> list[Sequence[Entry]]:
        """The entries of each resource, in the order of their names."""
        self.stale = False
        return [cacher.select(cacher.prefix) for cacher in self._cachers]


class _Watcher:
    def __init__(self, followed: Followed, scope: str) -> None:
        self.scope = scope
        self._followed = followed

    def deliver(self, event: CacheEvent) -> None:
        self._followed.stale = True

    def ended(self, error: kv.StorageError | None) -> None:
        """The cache was filled anew."""
        self._followed.stale = True
