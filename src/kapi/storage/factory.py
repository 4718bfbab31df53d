"""The stores of all resources over one engine (or several, where overridden): prefixes, caches and lifetimes."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kapi.api.clock import Clock
from kapi.api.gvk import GroupResource
from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import EntryMaker, Shape
from kapi.storage.objects import ObjectStore

if TYPE_CHECKING:
    from kapi.storage.encryption.encrypted import EncryptedKV
    from kapi.storage.encryption.encryption import Encryption


@dataclass(frozen=True, slots=True, kw_only=True)
class StorageConfig:
    root: str = "/registry"  # --etcd-prefix
    watch_cache: bool = True
    watch_cache_sizes: Mapping[GroupResource, int] = field(default_factory=dict)  # 0: not cached
    event_ttl: int = 3600


class StorageFactory:
    """Makes each resource's ObjectStore once; all caches end with it."""

    def __init__(
        self,
        engine: Callable[[GroupResource], kv.KV],
        config: StorageConfig,
        clock: Clock,
        encryption: Encryption | None = None,
    ) -> None:
        self._engine = engine
        self._encryption = encryption
        self._behind_encryption: dict[GroupResource, EncryptedKV] = {}
        self._config = config
        self._clock = clock
        self._stores: dict[str, ObjectStore] = {}
        self._resources: dict[str, GroupResource] = {}  # by path, the first that was stored there
        self._cachers: dict[GroupResource, Cacher] = {}
        self._passing: dict[ObjectStore, GroupResource] = {}
        self._origins: dict[kv.KV, Revision] = {}

    async def served_from_now(self) -> None:
        """Clients come from here on: a cache that is filled later is no reason to tell them that they are late."""
        for engine in {self._engine(resource) for resource in self._resources.values()}:
            with contextlib.suppress(kv.StorageError):
                self._origins[engine] = await engine.revision()

    @property
    def stores(self) -> Iterable[tuple[GroupResource, ObjectStore]]:
        return ((self._resources[path], store) for path, store in self._stores.items())

    def cacher(self, resource: GroupResource) -> Cacher | None:
        """The cache of a resource, if it is stored here."""
        return self._cachers.get(resource)

    def path(self, prefix: str) -> str:
        """What the keys of a resource begin with. `prefix` is its place below the root, without slashes at its ends."""
        return f"{self._config.root.rstrip('/')}/{prefix}/"

    def objects(self, resource: GroupResource, prefix: str, shape: Shape, *, expires: bool = False) -> ObjectStore:
        path = self.path(prefix)
        store = self._stores.get(path)
        if store is None:
            ttl = self._config.event_ttl if expires else 0
            store = self._stores[path] = self._over(resource, self.engine(resource), path, EntryMaker(shape), ttl)
            self._resources[path] = resource
        self._cachers[resource] = store.cacher
        return store

    def shared(self, resource: GroupResource, prefix: str, shape: Shape, *, ttl: int = 0) -> ObjectStore:
        """For the few keys that servers keep for each other: always read from the engine, never cached or encrypted."""
        path = self.path(prefix)
        engine = self._engine(resource)
        return ObjectStore(engine, Cacher(engine, path, shape, self._clock), ttl=ttl, cached=False)

    def engine(self, resource: GroupResource) -> kv.KV:
        """Where the resource's objects are stored, behind encryption where that is configured."""
        return self._engine(resource) if self._encryption is None else self._encrypted(resource, self._encryption)

    def _encrypted(self, resource: GroupResource, encryption: Encryption) -> EncryptedKV:
        """One for all versions of a resource: what one of them writes, the others' watchers know at once."""
        from kapi.storage.encryption.encrypted import EncryptedKV  # only where it is configured

        found = self._behind_encryption.get(resource)
        if found is None:
            found = self._behind_encryption[resource] = EncryptedKV(self._engine(resource), encryption, resource)
        return found

    def passing(self, resource: GroupResource, engine: kv.KV, prefix: str, make_entry: EntryMaker) -> ObjectStore:
        """The store of a resource that comes and goes, with its own way to read what is stored; ended by `retire`."""
        path = self.path(prefix)
        store = self._over(resource, engine, path, make_entry)
        self._passing[store] = resource
        self._cachers[resource] = store.cacher
        return store

    def _over(
        self, resource: GroupResource, engine: kv.KV, path: str, make_entry: EntryMaker, ttl: int = 0
    ) -> ObjectStore:
        is_stale = None if self._encryption is None else self._encrypted(resource, self._encryption).is_stale
        size = self._config.watch_cache_sizes.get(resource)
        cacher = Cacher(engine, path, make_entry.shape, self._clock, capacity=size or 0)
        cacher.make_entry = make_entry
        cached = self._config.watch_cache and size != 0
        root = self._config.root.rstrip("/")
        return ObjectStore(
            engine,
            cacher,
            ttl=ttl,
            cached=cached,
            is_stale=is_stale,
            root=root,
            raw=self._engine(resource),
            origins=self._origins,
        )

    async def retire(self, store: ObjectStore) -> None:
        resource = self._passing.pop(store, None)
        if resource is not None and self._cachers.get(resource) is store.cacher:
            del self._cachers[resource]
        await store.cacher.close()

    async def close(self) -> None:
        stores = [*self._stores.values(), *self._passing]
        await asyncio.gather(*(store.cacher.close() for store in stores))
