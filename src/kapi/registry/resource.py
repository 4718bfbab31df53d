"""Resource: what a server needs to know to serve one. A built-in resource is one such value and the functions in it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache

from kapi.api.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource
from kapi.api.objects import Object
from kapi.registry.strategy import FieldsOf, Strategy
from kapi.registry.table import AGE, NAME, Column
from kapi.schema.loader import ResourceFacts, resource_facts, type_of
from kapi.schema.types import Type


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """How a resource is called and reached: facts, not behaviour."""

    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    list_kind: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """An endpoint below an object that reads and writes the same stored object, by rules of its own."""

    strategy: Strategy
    verbs: tuple[str, ...] = ("get", "patch", "update")


def metadata_fields(decoded: Object) -> Mapping[str, str]:
    """The fields every resource can be selected by."""
    metadata = decoded["metadata"]
    return {"metadata.name": metadata.get("name", ""), "metadata.namespace": metadata.get("namespace", "")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Resource:
    """Names and schema of a built-in come from the schema data; a custom resource brings its own."""

    group: str
    version: str
    kind: str
    strategy: Strategy = field(default_factory=Strategy)
    subresources: Mapping[str, Subresource] = field(default_factory=dict)
    columns: tuple[Column, ...] = (NAME, AGE)
    fields_of: FieldsOf = metadata_fields
    field_names: tuple[str, ...] = ()  # selectable besides metadata.name and metadata.namespace
    prefix: str = ""  # the path below the store's root, where upstream's differs from the plural
    returns_deleted: bool = False  # a delete answers with the object, not with a Status
    typed_items: bool = True  # a list's items do not repeat their kind
    expires: bool = False  # lives for --event-ttl
    given_names: Names | None = None
    given_schema: Callable[[], Type] | None = None

    @property
    def names(self) -> Names:
        return self.given_names or _names(self.group, self.version, self.kind)

    @property
    def schema(self) -> Type:
        if self.given_schema is not None:
            return self.given_schema()
        return type_of(self.group, self.version, self.kind)

    @property
    def facts(self) -> ResourceFacts | None:
        return resource_facts(self.group, self.version, self.kind)

    @property
    def group_version(self) -> GroupVersion:
        return GroupVersion(self.group, self.version)

    @property
    def gvk(self) -> GroupVersionKind:
        return GroupVersionKind(self.group, self.version, self.kind)

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.names.plural)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.names.plural)

    @property
    def group_kind(self) -> GroupKind:
        return GroupKind(self.group, self.kind)


@cache
def _names(group: str, version: str, kind: str) -> Names:
    facts = resource_facts(group, version, kind)
    if facts is None:
        raise LookupError(f"no built-in resource has the kind {kind} in {GroupVersion(group, version)}")
    return Names(
        plural=facts.plural,
        singular=facts.singular,
        kind=facts.kind,
        namespaced=facts.namespaced,
        verbs=facts.verbs,
        short_names=facts.short_names,
        categories=facts.categories,
    )
