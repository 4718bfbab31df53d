"""What plugins look up: objects of other resources, from the cache.

Made before there are stores and bound to them once the server is installed. Reads need not wait once a resource's
cache is filled, so the common case of a hook is a plain call.
"""

from __future__ import annotations

from collections.abc import Mapping

from kapi.api.fields import go_quote
from kapi.api.gvk import GroupResource
from kapi.api.names import path_segment
from kapi.api.objects import Object, Revision
from kapi.registry.store import Store
from kapi.storage.cacher.entry import Entry
from kapi.storage.objects import Query


class Lookup:
    def __init__(self) -> None:
        self.stores: Mapping[GroupResource, Store] = {}

    def bind(self, stores: Mapping[GroupResource, Store]) -> None:
        self.stores = stores

    def cached(self, resource: GroupResource, namespace: str, name: str) -> Entry | None:
        """What the cache has; None also when it has not been filled yet."""
        cacher = self.stores[resource].objects.cacher
        if not cacher.ready:
            return None
        # A name that could leave its place is no key of the cache: it need not be checked here.
        return cacher.get(f"{cacher.prefix}{namespace}/{name}" if namespace else cacher.prefix + name)

    async def get(self, resource: GroupResource, namespace: str, name: str) -> Entry | None:
        """From the cache, and from the store before an object is said to be missing."""
        return self.cached(resource, namespace, name) or await get_from(self.stores[resource], namespace, name)

    def listed(self, resource: GroupResource, namespace: str = "") -> list[Entry] | None:
        """The objects of a namespace, or all, as the cache has them; None when it has not been filled yet."""
        store = self.stores.get(resource)
        if store is None:
            return []
        cacher = store.objects.cacher
        if not cacher.ready:
            return None
        return cacher.select(store.scope(namespace)) if len(cacher) else []

    async def list(self, resource: GroupResource, namespace: str = "") -> list[Entry]:
        found = self.listed(resource, namespace)
        if found is not None:
            return found
        return await list_from(self.stores[resource], namespace)


def unaskable(name: str) -> str:
    """Why upstream's client does not even ask for an object of this name; empty when it does."""
    if not name:
        return "resource name may not be empty"
    problems = path_segment(name)
    return f"invalid resource name {go_quote(name)}: [{' '.join(problems)}]" if problems else ""


async def get_from(store: Store, namespace: str, name: str) -> Entry | None:
    cacher, key = store.objects.cacher, store.key(namespace, name)
    entry = cacher.get(key) if cacher.ready else None
    return entry if entry is not None else await store.objects.get(key, None)


async def list_from(store: Store, namespace: str) -> list[Entry]:
    listing = await store.list(Query(scope=store.scope(namespace), revision=Revision(0)))
    return listing.entries


def decoded(entry: Entry) -> Object:
    """The object, decoded once for all who only read it."""
    if entry.renderings is None:
        entry.renderings = {}
    found: Object | None = entry.renderings.get("decoded")
    if found is None:
        found = entry.renderings["decoded"] = entry.object
    return found
