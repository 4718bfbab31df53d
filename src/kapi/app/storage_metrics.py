"""What the store and its caches tell of themselves: sizes, object counts, how far compaction is behind.

Counts and sizes are polled, because an engine may have to ask for them; what is in memory is read when it is scraped.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable

from kapi.app.storage import Engines
from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.factory import StorageFactory
from kapi.telemetry.log import log
from kapi.telemetry.metrics import Computed, Labels, Registry

_RESOURCE = ("group", "resource")
_CLUSTER = ("storage_cluster_id",)
# As upstream: what could not be counted is told apart from what is not there.
_UNKNOWN = -1


class StorageMetrics:
    def __init__(self, registry: Registry, engines: Engines, factory: StorageFactory) -> None:
        self._engines = engines
        self._factory = factory
        objects = "Number of stored objects at the time of last check split by kind. -1: it could not be counted."
        self._objects = registry.gauge("apiserver_resource_objects", objects, _RESOURCE)
        self._objects_by_old_name = registry.gauge("apiserver_storage_objects", objects, _RESOURCE)
        self._size = registry.gauge(
            "apiserver_storage_size_bytes", "Size of the storage database file physically allocated in bytes.", _CLUSTER
        )
        self._in_use = registry.gauge("kapi_storage_in_use_bytes", "Of that size, what holds data.", _CLUSTER)
        self._revision = registry.gauge("kapi_storage_revision", "The store's newest revision.", _CLUSTER)
        self._lag = registry.gauge(
            "kapi_storage_history_revisions", "Revisions kept since the one compacted last.", _CLUSTER
        )
        self._register_caches(registry)

    def _register_caches(self, registry: Registry) -> None:
        def each(value: Callable[[Cacher], float]) -> Callable[[], Iterable[tuple[Labels, float]]]:
            return lambda: [(labels, value(cacher)) for labels, cacher in self._caches()]

        for name, help, kind, value in (
            ("watch_cache_capacity", "Total capacity of watch cache broken by resource type.", "gauge", _capacity),
            ("apiserver_watch_cache_resource_version", "Current resource version of the watch cache.", "gauge", _at),
            ("apiserver_watch_cache_initializations_total", "How often a watch cache was filled.", "counter", _fills),
        ):
            registry.register(Computed(name, help, each(value), labels=_RESOURCE, kind=kind))

    def _caches(self) -> Iterable[tuple[Labels, Cacher]]:
        for resource, store in self._factory.stores:
            if store.cacher.fills:
                yield (resource.group, resource.resource), store.cacher

    async def poll(self, counts: float, sizes: float) -> None:
        """Until cancelled, every so many seconds; 0 means never."""
        async with asyncio.TaskGroup() as group:
            group.create_task(_every(counts, self.count_objects))
            group.create_task(_every(sizes, self.read_sizes))

    async def count_objects(self) -> None:
        for resource, store in list(self._factory.stores):
            labels = (resource.group, resource.resource)
            try:
                count = await store.count()
            except kv.StorageError as error:
                log.debug(2, "objects_not_counted", prefix=store.prefix, error=str(error))
                count = _UNKNOWN
            self._objects.set(count, labels)
            self._objects_by_old_name.set(count, labels)

    async def read_sizes(self) -> None:
        for number, engine in enumerate(self._engines.all):
            cluster = (f"etcd-{number}",)
            try:
                stats = await engine.stats()
            except kv.StorageError as error:
                log.debug(2, "store_size_unknown", cluster=cluster[0], error=str(error))
                continue
            self._size.set(stats.size_bytes, cluster)
            self._in_use.set(stats.in_use_bytes, cluster)
            self._revision.set(stats.revision, cluster)
            self._lag.set(stats.revision - stats.compacted, cluster)


def _capacity(cacher: Cacher) -> float:
    return cacher.window.capacity


def _at(cacher: Cacher) -> float:
    return cacher.revision


def _fills(cacher: Cacher) -> float:
    return cacher.fills


async def _every(seconds: float, read: Callable[[], Awaitable[None]]) -> None:
    while seconds > 0:
        await read()
        await asyncio.sleep(seconds)
