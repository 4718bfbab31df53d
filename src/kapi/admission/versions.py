"""The groups and versions that a resource is served in, and its objects as each of them shows them.

A write is admitted in the form that its store works on. Rules, expressions and webhooks know an object by the version
that a request names or that a rule asks for; this is where the one becomes the other.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import orjson

from kapi.admission.matching import Match
from kapi.api.gvk import GroupResource, GroupVersionKind, GroupVersionResource
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes
from kapi.registry.resource import Conversion, Resource, View
from kapi.registry.store import Store


class NotConverted(Exception):
    """An object has no form in the version asked for; the text says why."""


class CustomResources(Protocol):
    """What definitions bring; it changes while the server runs."""

    def at(self, resource: GroupVersionResource) -> Resource | None:
        """The resource in one served version."""

    def matches(self, resource: GroupResource) -> Sequence[Match]:
        """Each served version of a custom resource; empty for any other."""

    def store_of(self, kind: GroupVersionKind) -> Store | None:
        """The store of a kind in one served version."""

    async def convert(self, resource: GroupResource, held: Object, api_version: str) -> Object:
        """An object in another version of its resource. Raises NotConverted."""


class NoCustomResources:
    def at(self, resource: GroupVersionResource) -> Resource | None:
        return None

    def matches(self, resource: GroupResource) -> Sequence[Match]:
        return ()

    def store_of(self, kind: GroupVersionKind) -> Store | None:
        return None

    async def convert(self, resource: GroupResource, held: Object, api_version: str) -> Object:
        return {**held, "apiVersion": api_version}


class Versions:
    """Made before there are resources, and bound to them once the server is installed."""

    def __init__(self) -> None:
        self._resources: dict[GroupVersionResource, Resource] = {}
        self._stores: dict[GroupVersionKind, Store] = {}
        self._conversions: dict[GroupVersionKind, Conversion] = {}
        self._families: dict[GroupVersionResource, tuple[Resource, ...]] = {}
        self._equivalents: dict[tuple[GroupVersionResource, str], tuple[Match, ...]] = {}
        self.custom: CustomResources = NoCustomResources()

    def bind(self, stores: Iterable[Store], custom: CustomResources) -> None:
        self.custom = custom
        families: dict[GroupResource, list[Resource]] = {}
        for store in stores:
            resource = store.resource
            self._stores[resource.gvk] = store
            self._resources[resource.gvr] = resource
            stored = resource.group_resource
            if resource.conversion is not None:
                stored = resource.conversion.stored_resource
                self._conversions[resource.gvk] = resource.conversion
            families.setdefault(stored, []).append(resource)
        self._families = {r.gvr: tuple(family) for family in families.values() for r in family}

    def at(self, resource: GroupVersionResource) -> Resource | None:
        """The resource that is served here."""
        return self._resources.get(resource) or self.custom.at(resource)

    def store_of(self, kind: GroupVersionKind) -> Store | None:
        return self._stores.get(kind) or self.custom.store_of(kind)

    def equivalents(self, resource: GroupVersionResource, subresource: str) -> tuple[Match, ...]:
        """Where else the resource is served, and as which kind."""
        found = self._equivalents.get((resource, subresource))
        if found is not None:
            return found
        family = self._families.get(resource)
        if family is None:
            return tuple(m for m in self.custom.matches(resource.group_resource) if m.resource != resource)
        others = (r for r in family if r.gvr != resource and (not subresource or subresource in r.subresources))
        found = self._equivalents[resource, subresource] = tuple(Match(r.gvr, r.kind_at(subresource)) for r in others)
        return found

    async def shown(self, attributes: Attributes, held: Object | None, kind: GroupVersionKind) -> Object | None:
        """An object of the request, as this kind. Raises NotConverted."""
        if held is None:
            return None
        view = self._view(attributes)
        if view is not None:
            return view.read(held)
        conversion = self._conversions.get(kind)
        if conversion is not None and _is(held, conversion.stored):
            # It may work in place.
            return conversion.from_stored(orjson.loads(orjson.dumps(held)))
        if kind == attributes.kind or _is(held, kind):
            return held
        return await self.custom.convert(attributes.resource.group_resource, held, str(kind.group_version))

    async def taken(self, attributes: Attributes, shown: Object) -> Object:
        """What was shown, perhaps changed since, in the form that the store works on. Raises NotConverted."""
        held = attributes.object or {}
        view = self._view(attributes)
        if view is not None:
            changed: Object = orjson.loads(orjson.dumps(held))
            view.write(changed, shown)
            return changed
        found = GroupVersionKind(*_group_version(shown), str(shown.get("kind", "")))
        conversion = self._conversions.get(found)
        if conversion is not None and _is(held, conversion.stored):
            return conversion.to_stored(shown)
        if _is(shown, attributes.kind) or _is(held, found):
            return shown
        return await self.custom.convert(attributes.resource.group_resource, shown, held["apiVersion"])

    def _view(self, attributes: Attributes) -> View | None:
        if not attributes.subresource:
            return None
        resource = self.at(attributes.resource)
        found = resource.subresources.get(attributes.subresource) if resource is not None else None
        return found.view if found is not None else None


def _is(held: Mapping[str, object], kind: GroupVersionKind) -> bool:
    return held.get("kind") == kind.kind and held.get("apiVersion") == str(kind.group_version)


def _group_version(held: Mapping[str, object]) -> tuple[str, str]:
    group, _, version = str(held.get("apiVersion", "")).rpartition("/")
    return group, version
