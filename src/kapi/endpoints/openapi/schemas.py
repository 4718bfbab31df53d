"""The schemas of a document: definitions from the schema data, and all that they refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from kapi.api.gvk import GroupVersion
from kapi.api.objects import Object
from kapi.schema.loader import META, definition, registered_versions

COMPONENTS = "#/components/schemas/"
# Kinds of meta/v1 that belong to every group-version.
_SHARED = ("DeleteOptions", "WatchEvent")
# Groups that other servers serve, or none: they are only sent to and fro.
_NOT_KUBE = frozenset(
    (
        "admission.k8s.io",
        "apidiscovery.k8s.io",
        "apiextensions.k8s.io",
        "apiregistration.k8s.io",
        "imagepolicy.k8s.io",
        "meta.k8s.io",
        "testapigroup.apimachinery.k8s.io",
    )
)


def meta(kind: str) -> str:
    return f"{META}.{kind}"


def _list_of(item: Object) -> Object:
    return {"type": "array", "items": item, "x-kubernetes-list-type": "atomic"}


def _told_kind(kind: str, **properties: Object) -> Object:
    named: Object = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    return {
        "type": "object",
        "required": list(properties),
        "properties": {**named, **properties},
        "x-kubernetes-group-version-kind": [{"group": "", "kind": kind, "version": "v1"}],
    }


VERSION_INFO = "io.k8s.apimachinery.pkg.version.Info"
_VERSION = (
    "major",
    "minor",
    "gitVersion",
    "gitCommit",
    "gitTreeState",
    "buildDate",
    "goVersion",
    "compiler",
    "platform",
)
_EFFECTIVE = ("emulationMajor", "emulationMinor", "minCompatibilityMajor", "minCompatibilityMinor")
# Definitions that no resource refers to, so that the schema data do not have them.
_ROOTS: Mapping[str, Object] = {
    VERSION_INFO: {
        "type": "object",
        "required": list(_VERSION),
        "properties": {name: {"type": "string"} for name in (*_VERSION, *_EFFECTIVE)},
    },
    meta("APIGroupList"): _told_kind("APIGroupList", groups=_list_of({"$ref": meta("APIGroup"), "default": {}})),
    meta("APIVersions"): _told_kind(
        "APIVersions",
        versions=_list_of({"type": "string", "default": ""}),
        serverAddressByClientCIDRs=_list_of({"$ref": meta("ServerAddressByClientCIDR"), "default": {}}),
    ),
}


def built_in_kinds(kind: str) -> list[Object]:
    """A kind of meta/v1 in every group-version that the Kube server knows, served or not."""
    versions = (GroupVersion.parse(version) for version in registered_versions())
    known = sorted(version for version in versions if version.group not in _NOT_KUBE)
    return [{"group": group, "kind": kind, "version": version} for group, version in known]


def closure(names: Iterable[str]) -> dict[str, Mapping[str, Any]]:
    """The definitions of these names and of everything they refer to, by name."""
    found: dict[str, Mapping[str, Any]] = {}
    wanted = list(names)
    while wanted:
        name = wanted.pop()
        if name not in found:
            found[name] = _ROOTS.get(name) or definition(name)
            wanted += _references(found[name])
    return dict(sorted(found.items()))


def _references(schema: Mapping[str, Any]) -> Iterator[str]:
    if "$ref" in schema:
        yield schema["$ref"]
    for of in schema.get("properties", {}).values():
        yield from _references(of)
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            yield from _references(schema[key])


def v3_schemas(names: Iterable[str], group_version: GroupVersion) -> Object:
    return {name: _v3(_own_kinds(name, schema, group_version)) for name, schema in closure(names).items()}


def _own_kinds(name: str, schema: Mapping[str, Any], group_version: GroupVersion) -> Mapping[str, Any]:
    """A shared kind is told as the core group's and as the document's own."""
    kind = name.rpartition(".")[2]
    if kind not in _SHARED or name != meta(kind):
        return schema
    kinds = [{"group": "", "kind": kind, "version": "v1"}]
    if group_version.group:
        kinds.append({"group": group_version.group, "kind": kind, "version": group_version.version})
    return {**schema, "x-kubernetes-group-version-kind": kinds}


def _v3(schema: Mapping[str, Any]) -> Object:
    out: Object = {}
    for key, value in schema.items():
        if key == "properties":
            out[key] = {name: _property(of) for name, of in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, Mapping):
            out[key] = _element(value)
        else:
            out[key] = value
    return out


def _property(schema: Mapping[str, Any]) -> Object:
    """A reference beside other keywords must be wrapped: in OpenAPI 3.0 it would hide them."""
    if "$ref" not in schema:
        return _v3(schema)
    rest = {key: value for key, value in schema.items() if key != "$ref"}
    return {**rest, "allOf": [{"$ref": COMPONENTS + schema["$ref"]}]}


def _element(schema: Mapping[str, Any]) -> Object:
    if "$ref" in schema and len(schema) == 1:
        return {"$ref": COMPONENTS + schema["$ref"]}
    return _property(schema)
