"""Resource: what a server needs to know to serve one. A built-in resource is one such value and the functions in it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from kapi.api.call import Call
from kapi.api.fields import FieldError
from kapi.api.gvk import GroupKind, GroupResource, GroupVersion, GroupVersionKind, GroupVersionResource
from kapi.api.objects import Object
from kapi.patch.apply.update import Convert
from kapi.registry.options import DeleteOptions, WriteOptions
from kapi.registry.strategy import FieldsOf, Strategy
from kapi.registry.table import AGE, NAME, Column
from kapi.schema.loader import ResourceFacts, resource_facts, type_of
from kapi.schema.types import Type

if TYPE_CHECKING:
    from kapi.registry.store import Store, Target
    from kapi.wire.messages import Response


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
class View:
    """Another kind that shows a part of the object and writes it back: a Scale."""

    gvk: GroupVersionKind
    read: Callable[[Object], Object]
    write: Callable[[Object, Object], None]  # the shown kind into the object
    validate: Callable[[Object], list[FieldError]] | None = None
    # Where the object keeps the one field that is written; who owns it here owns it there.
    replicas_path: str = ""
    columns: tuple[Column, ...] = ()
    # Raises why an object cannot be shown, where only that is asked for.
    check_get: Callable[[Object], None] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """Something done to an object by a POST: its body's kind, and what is answered (with 201)."""

    gvk: GroupVersionKind
    run: Callable[[Call, Store, Target, Object, WriteOptions], Awaitable[Object]]
    or_versions: tuple[GroupVersion, ...] = ()  # the same kind in other versions, which is as good
    default: Callable[[Object], None] | None = None  # typed defaults of the body


@dataclass(frozen=True, slots=True, kw_only=True)
class Connect:
    """A way to what an object stands for, such as a running container: it answers for itself."""

    methods: tuple[str, ...]
    run: Callable[[Call, Store, Target], Awaitable[Response]]
    with_path: bool = False  # what follows in the path belongs to it, as it does to a proxy
    # What is asked for, as admission sees it; without it nothing is connected, and admission is not asked.
    options: Callable[[Call], Object] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """An endpoint below an object: the same object by rules of its own, a view of it, or an action on it."""

    strategy: Strategy = field(default_factory=Strategy)
    verbs: tuple[str, ...] = ("get", "patch", "update")
    view: View | None = None
    action: Action | None = None
    connect: Connect | None = None


Create: TypeAlias = Callable[[Call, Object, WriteOptions], Awaitable[Object]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Virtual:
    """A resource that is not stored: what answers its verbs. A review, a component status."""

    create: Create | None = None
    get: Callable[[Call, str], Awaitable[Object]] | None = None
    list: Callable[[Call], Awaitable[Object]] | None = None
    action: Action | None = None  # a POST that does something to another resource's object


@dataclass(frozen=True, slots=True, kw_only=True)
class Conversion:
    """A version that is stored as another one. The resource's strategy works on the stored form."""

    stored: GroupVersionKind
    stored_resource: GroupResource
    to_stored: Callable[[Object], Object]
    from_stored: Callable[[Object], Object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Untyped:
    """What a custom resource has instead of a built-in type: its definition's schema.

    `settle` prunes a decoded object in place and returns the paths of what its schema does not know; it raises
    ValueError when the object's metadata is malformed. `settle_applied` does the same to what was applied, whose nulls
    are not dropped: validation finds them.
    """

    settle: Callable[[Object], list[str]]
    settle_applied: Callable[[Object], list[str]]


class StoreHooks(Protocol):
    """What must happen around a write besides storing: addresses and ports are taken and given back.

    A write begins before the object is validated, so that what is filled in here is judged too. The returned function
    is called once the write has succeeded (True) or failed (False).
    """

    async def begin_create(self, call: Call, new: Object, options: WriteOptions) -> Finish | None: ...

    async def begin_update(self, call: Call, new: Object, old: Object, options: WriteOptions) -> Finish | None: ...

    async def after_delete(self, call: Call, old: Object, options: DeleteOptions) -> None: ...


Finish: TypeAlias = Callable[[bool], Awaitable[None]]


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
    row_order: Callable[[list[Any]], Any] | None = None  # of a list's table: sorted by this key of the columns' values
    default_of: Callable[[Sequence[Object]], int | None] | None = None  # of a list: the one its table marks as that
    row_conditions: Callable[[Object], list[Object]] | None = None  # of a table's row: whether it can be left out
    fields_of: FieldsOf = metadata_fields
    field_names: tuple[str, ...] = ()  # selectable besides those of the metadata
    namespace_selectable: bool = True  # as long as it is namespaced
    unknown_field: str = "field label not supported: {}"  # the answer to a selector of any other field
    hidden_annotations: tuple[str, ...] = ()  # stand for fields, so they are no metadata where only that is asked for
    prefix: str = ""  # the path below the store's root, where upstream's differs from the plural
    returns_deleted: bool = False  # a delete answers with the object, not with a Status
    typed_items: bool = True  # a list's items do not repeat their kind
    expires: bool = False  # lives for --event-ttl
    deprecated: str = ""  # what every request is warned of
    virtual: Virtual | None = None
    conversion: Conversion | None = None
    convert: Convert | None = None  # to other versions, for the fields that managers own there
    hooks: StoreHooks | None = None
    given_names: Names | None = None
    given_schema: Callable[[], Type] | None = None
    untyped: Untyped | None = None  # a custom resource

    @property
    def names(self) -> Names:
        return self.given_names or _names(self.group, self.version, self.kind)

    @property
    def stored_at(self) -> str:
        """Its path below the store's root."""
        return self.prefix or self.names.plural

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

    def kind_at(self, subresource: str) -> GroupVersionKind:
        """What requests below an object are about: its own kind, or that of a view or an action."""
        found = self.subresources.get(subresource) if subresource else None
        shown = found and (found.view or found.action)
        return shown.gvk if shown else self.gvk

    @property
    def gvr(self) -> GroupVersionResource:
        return GroupVersionResource(self.group, self.version, self.names.plural)

    @property
    def group_resource(self) -> GroupResource:
        return GroupResource(self.group, self.names.plural)

    @property
    def group_kind(self) -> GroupKind:
        """As errors name it: upstream knows an object by the kind it is stored as."""
        stored = self.gvk if self.conversion is None else self.conversion.stored
        return GroupKind(stored.group, stored.kind)


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
