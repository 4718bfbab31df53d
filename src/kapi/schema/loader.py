"""Facts about built-in resources and types, read per group-version on first use.

Nothing is parsed before it is asked for: the index of resources is one small file, each package of types another, and a
Type resolves its fields' types only when they are looked at.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from os.path import dirname, join
from typing import Any, NamedTuple

import orjson

from kapi.api.gvk import GroupVersion
from kapi.schema.types import Field, GoField, Topology, Type

META = "io.k8s.apimachinery.pkg.apis.meta.v1"

# Types with their own JSON form, which their OpenAPI facts do not tell.
_SPECIAL: Mapping[str, tuple[str, str]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": ("string", "quantity"),
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": ("string", "int-or-string"),
    "io.k8s.apimachinery.pkg.runtime.RawExtension": ("any", "raw"),
    f"{META}.Time": ("string", "date-time"),
    f"{META}.MicroTime": ("string", "micro-time"),
    f"{META}.FieldsV1": ("any", "raw"),
    f"{META}.Patch": ("any", "raw"),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON": ("any", "json"),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrBool": ("any", "schema-or-bool"),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrArray": ("any", "schema-or-array"),
    "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSONSchemaPropsOrStringArray": (
        "any",
        "schema-or-strings",
    ),
}


# Lists and maps whose defaults or rules tell an empty one from none: their resources drop what must not be stored.
_KEPT_EMPTY = frozenset(
    (
        ("io.k8s.api.autoscaling.v2.HPAScalingRules", "policies"),
        ("io.k8s.api.core.v1.PersistentVolumeSpec", "capacity"),
        ("io.k8s.api.networking.v1.IngressSpec", "rules"),
        ("io.k8s.api.networking.v1.ServiceCIDRSpec", "cidrs"),
        ("io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "managedFields"),
    )
)


class ColumnFacts(NamedTuple):
    name: str
    type: str
    format: str
    priority: int


class SubresourceFacts(NamedTuple):
    name: str
    kind: str
    group: str  # of the kind; empty with an empty version when it is the parent's
    version: str
    verbs: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceFacts:
    """What discovery says of a built-in resource, and the columns of its table."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    verbs: tuple[str, ...]
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    subresources: tuple[SubresourceFacts, ...] = ()
    columns: tuple[ColumnFacts, ...] = ()


class UnknownType(LookupError):
    """No built-in type has this name."""


def all_resources() -> tuple[ResourceFacts, ...]:
    """Every built-in resource, in the order of discovery."""
    return tuple(_facts(row["group"], row["version"], row["plural"]) for row in _read("resources")["resources"])


def resource_facts(group: str, version: str, name: str) -> ResourceFacts | None:
    """The facts of a resource, by its kind or its plural name."""
    row = _index().get((group, version, name))
    return None if row is None else _facts(group, version, row["plural"])


def type_of(group: str, version: str, kind: str) -> Type:
    """The type of a kind that this group-version serves, those of meta/v1 included; UnknownType when it has none."""
    package = _read("resources")["packages"].get(str(GroupVersion(group, version)))
    if package is not None and kind in _read(package)["types"]:
        return named_type(f"{package}.{kind}")
    if package is not None and kind in _read(META)["types"]:
        return named_type(f"{META}.{kind}")
    raise UnknownType(f"{GroupVersion(group, version)}, Kind={kind}")


def definition(name: str) -> Mapping[str, Any]:
    """The OpenAPI facts of a definition, by its full name; shared, not to be changed."""
    package, _, short = name.rpartition(".")
    try:
        found: Mapping[str, Any] = _read(package)["types"][short]
    except (FileNotFoundError, KeyError):
        raise UnknownType(name) from None
    return found


def definitions(group: str, version: str) -> Mapping[str, Mapping[str, Any]]:
    """All OpenAPI facts of a group-version, by full name; what they refer to in other packages is not among them."""
    package = _read("resources")["packages"].get(str(GroupVersion(group, version)))
    if package is None:
        return {}
    return {f"{package}.{name}": schema for name, schema in _read(package)["types"].items()}


def registered_versions() -> Sequence[str]:
    """Every apiVersion that upstream has kinds under, served or not."""
    return tuple(_read("kinds"))


def registered_kinds(api_version: str) -> frozenset[str]:
    """Every kind that upstream has under this apiVersion, whether it is still served or not."""
    return frozenset(_read("kinds").get(api_version, ()))


def field_order(name: str) -> Sequence[str]:
    """The fields of a definition in the order in which Go writes them."""
    found: Sequence[str] = _read("field_order").get(name, ())
    return found


@cache
def named_type(name: str) -> Type:
    """The type of a definition, by its full name."""
    if name in _SPECIAL:
        kind, format_ = _SPECIAL[name]
        return Type(kind, name=name, format=format_, int_or_string=format_ == "int-or-string")  # type: ignore[arg-type]
    package, _, short = name.rpartition(".")
    schema = definition(name)
    go = _read(package)["go"].get(short, {})
    required = frozenset(schema.get("required", ()))
    fields = {
        key: _field(key, value, key in required, go.get(key, "o"), keeps_empty=(name, key) in _KEPT_EMPTY)
        for key, value in schema.get("properties", {}).items()
    }
    return Type("object", name=name, fields=fields, topology=_map_topology(schema))


def go_name(type_: Type) -> str:
    """What Go calls a type, as far as its schema tells."""
    if type_.name:
        package, _, short = type_.name.rpartition(".")
        return f"{package.rpartition('.')[2]}.{short}"
    if type_.kind == "list":
        return "[]" + (go_name(type_.element) if type_.element else "interface {}")
    if type_.kind == "map":
        return "map[string]" + (go_name(type_.element) if type_.element else "interface {}")
    if type_.format == "byte":
        return "[]uint8"
    return {"string": "string", "boolean": "bool", "number": "float64", "integer": type_.format}.get(
        type_.kind, "interface {}"
    )


def _field(name: str, schema: Mapping[str, Any], required: bool, code: str, *, keeps_empty: bool) -> Field:
    flags, *more = code.split(" ")
    via = tuple(more.pop()[1:].split(".")) if more and more[-1].startswith("@") else ()
    return Field(
        name,
        lambda: _type(schema),
        required=required,
        default=schema.get("default"),
        has_default="default" in schema,
        patch_strategy=frozenset(filter(None, schema.get("x-kubernetes-patch-strategy", "").split(","))),
        merge_key=schema.get("x-kubernetes-patch-merge-key", ""),
        go=GoField(more[0] if more else _go_name(schema), "*" in flags, "o" in flags, "z" in flags, via, keeps_empty),
    )


def _go_name(schema: Mapping[str, Any]) -> str:
    """go_name of a schema that need not be resolved for it."""
    if "$ref" in schema:
        package, _, short = schema["$ref"].rpartition(".")
        return f"{package.rpartition('.')[2]}.{short}"
    if schema.get("type") == "array":
        return "[]" + _go_name(schema["items"])
    if isinstance(schema.get("additionalProperties"), Mapping):
        return "map[string]" + _go_name(schema["additionalProperties"])
    return go_name(_type(schema))


def _type(schema: Mapping[str, Any]) -> Type:
    if "$ref" in schema:
        named = named_type(schema["$ref"])
        if "x-kubernetes-map-type" not in schema or _map_topology(schema) == named.topology:
            return named
        return Type(named.kind, name=named.name, fields=named.fields, topology=_map_topology(schema))
    kind = schema.get("type")
    if kind == "array":
        items = schema["items"]
        return Type(
            "list",
            element=lambda: _type(items),
            topology=schema.get("x-kubernetes-list-type", "atomic"),
            map_keys=tuple(schema.get("x-kubernetes-list-map-keys", ())),
        )
    if kind == "object":
        values = schema.get("additionalProperties")
        return Type("map", element=(lambda: _type(values)) if values else None, topology=_map_topology(schema))
    if kind in ("string", "integer", "number", "boolean"):
        return Type(kind, format=schema.get("format", ""))
    return Type("any")


def _map_topology(schema: Mapping[str, Any]) -> Topology:
    return "atomic" if schema.get("x-kubernetes-map-type") == "atomic" else "granular"


@cache
def _read(name: str) -> Any:
    with open(join(dirname(__file__), "data", f"{name}.json"), "rb") as file:
        return orjson.loads(file.read())


@cache
def _index() -> Mapping[tuple[str, str, str], Mapping[str, Any]]:
    found: dict[tuple[str, str, str], Mapping[str, Any]] = {}
    for row in _read("resources")["resources"]:
        found[row["group"], row["version"], row["plural"]] = row
        found.setdefault((row["group"], row["version"], row["kind"]), row)
    return found


@cache
def _facts(group: str, version: str, plural: str) -> ResourceFacts:
    row = _index()[group, version, plural]
    return ResourceFacts(
        group=group,
        version=version,
        plural=plural,
        singular=row["singular"],
        kind=row["kind"],
        namespaced=row["namespaced"],
        verbs=tuple(row["verbs"]),
        short_names=tuple(row.get("short_names", ())),
        categories=tuple(row.get("categories", ())),
        subresources=tuple(
            SubresourceFacts(s["name"], s["kind"], s["group"], s["version"], tuple(s["verbs"]))
            for s in row.get("subresources", ())
        ),
        columns=tuple(ColumnFacts(*c) for c in row.get("columns", ())),
    )
