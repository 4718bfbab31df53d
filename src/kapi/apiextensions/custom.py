"""From a definition to the resource it defines, in one served version: schema, strategy, subresources, columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache, cached_property, partial
from typing import TYPE_CHECKING, Any

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.fields import FieldError, go_quote, invalid
from kapi.api.gvk import GroupKind, GroupResource
from kapi.api.names import label_key
from kapi.api.objects import Object, Revision
from kapi.apiextensions.columns import columns_of, printed
from kapi.apiextensions.conversion import Converter
from kapi.apiextensions.converted import ConvertedKV, Forms
from kapi.apiextensions.definition import DefinedVersion, Definition
from kapi.apiextensions.embedded import validate_embedded
from kapi.apiextensions.jsonpath import compile_path
from kapi.apiextensions.rules import evaluator
from kapi.apiextensions.scale import validate_scale, view_of
from kapi.apiextensions.stored import CustomEntryMaker
from kapi.patch.apply.check import problems
from kapi.patch.apply.fieldset import excluding
from kapi.patch.apply.shape import shape_of
from kapi.patch.errors import InvalidApply
from kapi.registry.metadata import STANDARD_FINALIZERS
from kapi.registry.resource import Names, Resource, Subresource, Untyped, metadata_fields
from kapi.registry.strategy import FieldsOf, Strategy, copy_field
from kapi.schema.structural import Structural
from kapi.schema.structural_check import UNRELATED, validate
from kapi.schema.structural_lists import duplicates
from kapi.schema.structural_settle import apply_defaults, normalize, settle
from kapi.schema.structural_types import object_type
from kapi.schema.types import Type
from kapi.storage.cacher.entry import Shape

if TYPE_CHECKING:
    from kapi.cel.custom_resources import Judgement

VERBS = ("delete", "deletecollection", "get", "list", "patch", "create", "update", "watch")
TERMINATING_VERBS = ("delete", "deletecollection", "get", "list", "watch")
SUBRESOURCE_VERBS = ("get", "patch", "update")
_BLOCKING = frozenset(
    ("FieldValueNotSupported", "FieldValueRequired", "FieldValueTooLong", "FieldValueTooMany", "FieldValueTypeInvalid")
)
_NOT_CHECKED = (
    "some validation rules were not checked because the object was invalid; correct the existing errors to complete "
    "validation"
)


class Custom:
    """One served version of a definition. Its schema is read, and compiled, as values come by."""

    def __init__(self, definition: Definition, version: DefinedVersion, is_terminating: Callable[[], bool]) -> None:
        spec = definition.entry.object["spec"]
        self._versions = frozenset(v["name"] for v in spec["versions"])
        self._definition = definition
        self._is_terminating = is_terminating
        self._facts = version
        self._spec: Object = next(v for v in spec["versions"] if v["name"] == version.name)
        self._spec.pop("schema", None)  # many are listed and never written: those cost no more than their definition
        self._kind = spec["names"]["kind"]
        self._api_version = f"{definition.group}/{version.name}"
        self._nodes: dict[str, Structural] = {}
        self._types: dict[str, Type] = {}
        subresources = self._spec.get("subresources") or {}
        self._has_status = subresources.get("status") is not None
        self._scale: Object | None = subresources.get("scale")
        self._served = Shape(kind=self._kind, api_version=self._api_version, fields_of=self._fields_of())
        stored_version = f"{definition.group}/{definition.storage}"
        self._storage = Shape(kind=self._kind, api_version=stored_version, fields_of=metadata_fields)

    @cached_property
    def _node(self) -> Structural:
        node = self._schema_of(self._facts.name)
        assert node is not None, "a definition has the version that it serves"
        return node

    @cached_property
    def _rules(self) -> Judgement | None:
        return evaluator(self._node.schema)

    def make_entry(self, *, in_step: bool, converted: ConvertedKV | None) -> CustomEntryMaker:
        """How entries are made of what is stored, or of what a conversion has made of that."""
        since: Revision | float = self._definition.since
        if since and not in_step:
            since = float("inf")  # another server may have written by the schema of yesterday
        storage = self._storage if converted is None else self._served
        return CustomEntryMaker(self._served, storage, self._schema_of, since, converted)

    def forms(self, convert: Converter) -> Forms:
        return Forms(self._served, self._storage, self._schema_of, convert)

    def _schema_of(self, version: str) -> Structural | None:
        if version not in self._nodes and version in self._versions:
            self._nodes[version] = Structural(self._definition.schemas()[version])
        return self._nodes.get(version)

    def resource(self) -> Resource:
        definition, version = self._definition, self._facts
        accepted = definition.accepted
        return Resource(
            group=definition.group,
            version=version.name,
            kind=self._kind,
            prefix=f"{definition.group}/{accepted.plural}",
            strategy=self._strategy(),
            subresources=self._subresources(),
            columns=columns_of(self._spec),
            fields_of=self._fields_of(),
            field_names=tuple(path.removeprefix(".") for path in self._selectable()),
            typed_items=False,
            deprecated=version.warning,
            given_names=Names(
                plural=accepted.plural,
                singular=accepted.singular,
                kind=self._kind,
                namespaced=definition.namespaced,
                verbs=VERBS,
                short_names=accepted.short_names,
                categories=accepted.categories,
                list_kind=accepted.list_kind,
            ),
            given_schema=cache(lambda: object_type(self._node)),
            convert=self._convert if len(self._versions) > 1 else None,
            untyped=Untyped(settle=self._settle, settle_applied=self._settle_applied),
        )

    # Decoding

    def _settle(self, obj: Object) -> list[str]:
        normalize(obj)
        return settle(self._node, obj)

    def _settle_applied(self, obj: Object) -> list[str]:
        normalize(obj)
        return settle(self._node, obj, keep_nulls=True)

    def _default(self, obj: Object) -> None:
        apply_defaults(self._node, obj)

    def _convert(self, obj: Object, api_version: str) -> tuple[Object, Type] | None:
        """An object as another version has it; InvalidApply when it does not fit there, None when that is gone."""
        group, _, version = api_version.rpartition("/")
        if group != self._definition.group or version not in self._versions:
            return None
        type_ = self._type(version)
        converted = {**obj, "apiVersion": api_version}
        text = problems(converted, shape_of(type_))
        if text:
            raise InvalidApply(text)
        return converted, type_

    def _type(self, version: str) -> Type:
        found = self._types.get(version)
        if found is None:
            found = self._types[version] = object_type(Structural(self._definition.schemas()[version]))
        return found

    # Selecting

    def _selectable(self) -> list[str]:
        return [field["jsonPath"] for field in self._spec.get("selectableFields") or ()]

    def _fields_of(self) -> FieldsOf:
        found = [(path.removeprefix("."), compile_path(path)) for path in self._selectable()]
        if not found:
            return metadata_fields
        return partial(_select, found)

    # Writing

    def _strategy(self) -> Strategy:
        return Strategy(
            default=self._default,
            prepare_for_create=self._prepare_for_create,
            prepare_for_update=self._prepare_for_update,
            validate=self._validate,
            validate_update=self._validate_update,
            warnings=_warnings,
            any_finalizer=True,
            unconditional_update=False,
            reset=excluding("status") if self._has_status else None,
        )

    def _subresources(self) -> Mapping[str, Subresource]:
        found: dict[str, Subresource] = {}
        if self._has_status:
            strategy = Strategy(
                default=self._default,
                prepare_for_update=self._prepare_for_status_update,
                validate_update=self._validate_status_update,
                any_finalizer=True,
                unconditional_update=False,
                reset=excluding("metadata", "spec"),
            )
            found["status"] = Subresource(strategy=strategy, verbs=SUBRESOURCE_VERBS)
        if self._scale is not None:
            strategy = Strategy(
                prepare_for_update=self._prepare_for_update,
                validate_update=self._validate_update,
                any_finalizer=True,
            )
            found["scale"] = Subresource(strategy=strategy, verbs=SUBRESOURCE_VERBS, view=view_of(self._scale))
        return found

    def _check_kind(self, call: Call, new: Object, old: Object | None) -> None:
        """As upstream: an object of another kind is refused by the name of that kind, and its fields are not looked at.

        What goes for the object as a whole is judged nevertheless.
        """
        found: list[FieldError] = []
        kind, api_version = new.get("kind", ""), new.get("apiVersion", "")
        if kind != self._kind:
            found.append(invalid("kind", kind, f"must be {self._kind}"))
        if api_version != self._api_version:
            found.append(invalid("apiVersion", api_version, f"must be {self._api_version}"))
        if found:
            group = api_version.rpartition("/")[0]
            found += validate_embedded(self._node, new)
            found += self._new_duplicates(new, old)
            found += self._judged(call, found, new, old)
            raise errors.Invalid(GroupKind(group, kind), new["metadata"].get("name", ""), found)

    def _prepare_for_create(self, call: Call, new: Object) -> None:
        if self._is_terminating():
            resource = GroupResource(self._definition.group, self._definition.accepted.plural)
            why = "create not allowed while custom resource definition is terminating"
            raise errors.Forbidden(resource, new["metadata"].get("name", ""), why)
        if self._has_status:
            new.pop("status", None)
        new["metadata"]["generation"] = 1
        self._check_kind(call, new, None)

    def _prepare_for_update(self, call: Call, new: Object, old: Object) -> None:
        if self._has_status:
            copy_field(new, old, "status")
        if _content(new) != _content(old):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        self._check_kind(call, new, old)

    def _prepare_for_status_update(self, call: Call, new: Object, old: Object) -> None:
        """Nothing but the status is taken, and who wrote it."""
        self._check_kind(call, new, old)
        status, is_given, managers = new.get("status"), "status" in new, new["metadata"].get("managedFields")
        new.clear()
        new |= orjson.loads(orjson.dumps(old))
        new["metadata"].pop("managedFields", None)
        if managers is not None:
            new["metadata"]["managedFields"] = managers
        new.pop("status", None)
        if is_given:
            new["status"] = status

    def _validate(self, call: Call, new: Object) -> list[FieldError]:
        found = validate(self._node, new)
        if self._scale is not None:
            found += validate_scale(self._scale, new)
        found += validate_embedded(self._node, new)
        found += duplicates(self._node, new)
        return found + self._judged(call, found, new, None)

    def _validate_update(self, call: Call, new: Object, old: Object) -> list[FieldError]:
        found = validate(self._node, new, old)
        if self._scale is not None:
            found += validate_scale(self._scale, new)
        found += validate_embedded(self._node, new)
        found += self._new_duplicates(new, old)
        return found + self._judged(call, found, new, old)

    def _validate_status_update(self, call: Call, new: Object, old: Object) -> list[FieldError]:
        found: list[FieldError] = []
        node = self._node.member("status")
        if "status" in new and node is not None:
            found += validate(node, new["status"], old.get("status", UNRELATED), "status")
        if self._scale is not None:
            found += validate_scale(self._scale, new, status_only=True)
        found += self._new_duplicates(new, old)
        return found + self._judged(call, found, new, old)

    def _new_duplicates(self, new: Object, old: Object | None) -> list[FieldError]:
        """What was doubled before may stay so."""
        found = list(duplicates(self._node, new))
        return [] if found and old is not None and any(duplicates(self._node, old)) else found

    def _judged(self, call: Call, found: list[FieldError], new: Object, old: Object | None) -> list[FieldError]:
        if self._rules is None:
            return []
        if not new["metadata"].get("name") or any(error.reason in _BLOCKING for error in found):
            return [invalid("<nil>", None, _NOT_CHECKED)]
        refused, warned_of = self._rules.judge(new, old)
        for error in warned_of:
            call.warn(str(error))
        return refused


def _content(obj: Object) -> Object:
    return {key: value for key, value in obj.items() if key != "metadata"}


def _select(found: list[tuple[str, Callable[[Any], list[Any]]]], obj: Object) -> Mapping[str, str]:
    fields = dict(metadata_fields(obj))
    for name, find in found:
        values = find(obj)
        fields[name] = printed(values[0]) if values and values[0] is not None else ""
    return fields


def _warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    """Finalizers that belong to nobody's domain are taken, but not gladly."""
    before = set((old or {"metadata": {}})["metadata"].get("finalizers") or ())
    found: list[str] = []
    for name in sorted(set(new["metadata"].get("finalizers") or ()) - before):
        at = f"metadata.finalizers: {go_quote(name)}"
        found += [f"{at}: {message}" for message in label_key(name)]
        if "/" not in name and name not in STANDARD_FINALIZERS:
            path = " including a path (/)" if "." in name else ""
            found.append(
                f"{at}: prefer a domain-qualified finalizer name{path} to avoid accidental conflicts with other "
                "finalizer writers"
            )
    return found
