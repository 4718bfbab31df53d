"""Resources as controllers see them: how each is reached, and where it is stored."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from kapi.api.clock import Clock
from kapi.api.gvk import GroupResource, GroupVersion
from kapi.endpoints.discovery import Catalogue
from kapi.storage.factory import StorageFactory

_FRESH_SECONDS = 1.0
_NEEDED = frozenset(("list", "delete"))


class Served(NamedTuple):
    """A resource in one of its versions."""

    group_version: GroupVersion
    plural: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    subresources: tuple[str, ...]
    is_custom: bool

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group_version.group, self.plural)

    @property
    def deletable(self) -> bool:
        return _NEEDED.issubset(self.verbs)

    def path(self, namespace: str, name: str = "") -> str:
        """Of an object, or of all in a namespace."""
        group, version = self.group_version
        root = f"/apis/{group}/{version}" if group else f"/api/{version}"
        if self.namespaced and namespace:
            root += f"/namespaces/{namespace}"
        return f"{root}/{self.plural}/{name}" if name else f"{root}/{self.plural}"


class Resources:
    """Everything served, by name and by kind. Definitions come and go: what was read is read anew after a moment."""

    def __init__(self, catalogue: Catalogue, factory: StorageFactory, clock: Clock) -> None:
        self._catalogue = catalogue
        self._factory = factory
        self._clock = clock
        self._prefixes = {resource: objects.prefix for resource, objects in factory.stores}
        self._read_at = float("-inf")
        self._by_name: dict[GroupResource, Served] = {}
        self._by_kind: dict[tuple[str, str], Served] = {}

    def all(self) -> Iterable[Served]:
        """Each resource once, in its preferred version, as it is now."""
        self._read()
        return self._by_name.values()

    def find(self, resource: GroupResource) -> Served | None:
        if not self._is_fresh or resource not in self._by_name:
            self._read()
        return self._by_name.get(resource)

    def of_kind(self, api_version: str, kind: str) -> Served | None:
        if not self._is_fresh or (api_version, kind) not in self._by_kind:
            self._read()
        return self._by_kind.get((api_version, kind))

    async def count(self, served: Served, namespace: str) -> int | None:
        """How many objects there are in a namespace; None when they are stored by another server."""
        resource = served.group_resource
        prefix = self._prefixes.get(resource)
        if prefix is None:
            if not served.is_custom:
                return None
            prefix = self._factory.path(f"{resource.group}/{resource.resource}")
        return await self._factory.engine(resource).count(f"{prefix}{namespace}/")

    @property
    def _is_fresh(self) -> bool:
        return self._clock.monotonic() - self._read_at < _FRESH_SECONDS

    def _read(self) -> None:
        self._read_at = self._clock.monotonic()
        self._by_name, self._by_kind = {}, {}
        for entry in self._catalogue.entries():
            for told in entry.resources:
                names = tuple(sub.name for sub in told.subresources)
                is_custom = told.schema is not None
                served = Served(
                    entry.group_version, told.plural, told.kind, told.namespaced, told.verbs, names, is_custom
                )
                self._by_name.setdefault(served.group_resource, served)
                if told.stored_as is not None or told.schema is not None:
                    self._by_kind[str(entry.group_version), told.kind] = served
