"""The documents: one per group-version in version 3, all together in version 2. Made on first use, then kept."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import orjson

from kapi.api.gvk import GroupVersion
from kapi.api.objects import Object
from kapi.endpoints.discovery import Catalogue, GroupVersionEntry, ResourceEntry
from kapi.endpoints.openapi import protobuf, protobuf_v3
from kapi.endpoints.openapi.custom import (
    CustomDocument,
    custom_paths,
    custom_schemas,
    is_custom,
    own_names,
    v2_definition,
)
from kapi.endpoints.openapi.operations import Paths
from kapi.endpoints.openapi.roots import root_item
from kapi.endpoints.openapi.schemas import COMPONENTS, closure, v3_schemas
from kapi.schema.loader import UnknownType, type_of

_SECURITY = {"BearerToken": {"type": "apiKey", "name": "authorization", "in": "header"}}
_INFO = {"title": "Kubernetes", "version": "1.37"}


class Document:
    """An encoded document and the hash of its content."""

    __slots__ = ("_protobuf", "body", "hash")

    def __init__(self, content: Object) -> None:
        self.body = orjson.dumps(content)
        self.hash = hashlib.sha512(self.body).hexdigest().upper()
        self._protobuf = b""

    @property
    def protobuf(self) -> bytes:
        """Made when somebody asks for it."""
        if not self._protobuf:
            content = orjson.loads(self.body)
            write = protobuf.document if "swagger" in content else protobuf_v3.document
            self._protobuf = write(content)
        return self._protobuf


class Documents:
    """Kept per group-version until what is served there changes. `others` are paths that belong to none."""

    def __init__(self, catalogue: Catalogue, others: Iterable[str] = ()) -> None:
        self._catalogue = catalogue
        self._others = frozenset(others)
        self._kept: dict[str, tuple[object, Document]] = {}
        self._kept_custom: dict[str, tuple[GroupVersionEntry, CustomDocument]] = {}

    def v3_all(self) -> Iterator[tuple[str, Document | CustomDocument]]:
        """By path: of group-versions, and of what only tells of them."""
        entries = self._entries()
        for path in self._kept_custom.keys() - entries:
            del self._kept_custom[path]
        for path in sorted({*entries, *self._telling(entries)}):
            yield path, self._document(path, entries.get(path))

    def v3(self, path: str) -> Document | CustomDocument | None:
        """The document of `apis/apps/v1`, or of the paths `apis` and `apis/apps` that only tell of groups."""
        entries = self._entries()
        if path in entries or path in self._telling(entries):
            return self._document(path, entries.get(path))
        return None

    def _entries(self) -> dict[str, GroupVersionEntry]:
        return {_v3_path(entry.group_version): entry for entry in self._catalogue.entries()}

    def _telling(self, entries: Mapping[str, GroupVersionEntry]) -> set[str]:
        """The paths that only tell of groups, of which those of custom resources have none, and of other things."""
        groups = {entry.group_version.group for entry in entries.values() if not is_custom(entry)}
        return {"api", "apis", "version", *self._others, *(f"apis/{group}" for group in groups if group)}

    def _document(self, path: str, entry: GroupVersionEntry | None) -> Document | CustomDocument:
        if entry is None:
            return self._make(path, path, partial(_v3_root, path))
        return self._custom(path, entry) if is_custom(entry) else self._make(path, entry, partial(_v3, entry))

    def v2(self) -> Document:
        by_path = self._entries()
        entries, roots = list(by_path.values()), sorted(self._telling(by_path) - by_path.keys())
        return self._make("v2", tuple(entries), lambda: _v2(entries, roots))

    def _custom(self, path: str, entry: GroupVersionEntry) -> CustomDocument:
        kept = self._kept_custom.get(path)
        if kept is None or (kept[0] is not entry and kept[0] != entry):
            kept = self._kept_custom[path] = (entry, CustomDocument(entry))
        return kept[1]

    def _make(self, path: str, source: object, make: Callable[[], Object]) -> Document:
        kept = self._kept.get(path)
        if kept is None or (kept[0] is not source and kept[0] != source):
            kept = self._kept[path] = (source, Document(make()))
        return kept[1]


def _v3_path(group_version: GroupVersion) -> str:
    return f"apis/{group_version}" if group_version.group else f"api/{group_version.version}"


def _envelope(paths: Object, schemas: Object) -> Object:
    components = {"schemas": schemas, "securitySchemes": _SECURITY}
    return {"openapi": "3.0.0", "info": _INFO, "paths": paths, "components": components}


def _paths(entry: GroupVersionEntry) -> Paths:
    paths = Paths(entry.group_version)
    paths.add_discovery()
    for resource in entry.resources:
        kind = _definition_name(entry.group_version, resource)
        if kind is None:
            continue
        paths.add(resource, kind)
        for sub in resource.subresources:
            group, version = (sub.group, sub.version) if sub.version else entry.group_version
            try:
                name = type_of(group, version, sub.kind).name
            except UnknownType:
                continue
            paths.add_subresource(resource, sub, name)
    return paths


def _definition_name(group_version: GroupVersion, resource: ResourceEntry) -> str | None:
    try:
        return type_of(group_version.group, group_version.version, resource.kind).name
    except UnknownType:
        return None


def _v3(entry: GroupVersionEntry) -> Object:
    paths = _paths(entry)
    return _envelope(dict(sorted(paths.paths.items())), v3_schemas(paths.definitions, entry.group_version))


def _v3_root(path: str) -> Object:
    item, name = root_item(path)
    return _envelope({f"/{path}/": item}, v3_schemas((name,), GroupVersion("", "v1")) if name else {})


def _v2(entries: list[GroupVersionEntry], roots: Iterable[str]) -> Object:
    """Swagger 2.0: the same operations, with bodies as parameters and responses without media types."""
    paths: Object = {}
    names: set[str] = set()
    custom: Object = {}
    for path in roots:
        item, name = root_item(path)
        paths[f"/{path}/"] = _v2_path(item)
        names |= {name} - {""}
    for entry in entries:
        if is_custom(entry):
            found = custom_paths(entry)
            names |= found.definitions - own_names(entry)
            custom |= {name: _v2_schema(v2_definition(schema)) for name, schema in custom_schemas(entry).items()}
        else:
            found = _paths(entry)
            names |= found.definitions
        paths |= {path: _v2_path(item) for path, item in found.paths.items()}
    return {
        "swagger": "2.0",
        "info": _INFO,
        "paths": dict(sorted(paths.items())),
        "definitions": {**{name: _v2_schema(schema) for name, schema in closure(names).items()}, **custom},
        "securityDefinitions": {"BearerToken": _SECURITY["BearerToken"]},
        "security": [{"BearerToken": []}],
    }


def _v2_path(item: Object) -> Object:
    out: Object = {}
    for method, operation in item.items():
        if method == "parameters":
            out[method] = [_v2_parameter(p) for p in operation]
        else:
            out[method] = _v2_operation(operation)
    return out


def _v2_operation(operation: Object) -> Object:
    parameters = [_v2_parameter(p) for p in operation.get("parameters", ())]
    body = operation.get("requestBody")
    out = {k: v for k, v in operation.items() if k not in ("parameters", "requestBody", "responses")}
    out["consumes"] = ["*/*"]
    if body is not None:
        media = next(iter(body["content"].values()))
        if len(body["content"]) > 1:
            out["consumes"] = list(body["content"])
        parameter: Object = {"name": "body", "in": "body", "schema": _v2_schema(media["schema"])}
        if body.get("required"):
            parameter["required"] = True
        parameters.insert(0, parameter)
    out["produces"] = list(next(iter(operation["responses"].values())).get("content", ()))
    if parameters:
        out["parameters"] = parameters
    out["responses"] = {code: _v2_response(answer) for code, answer in operation["responses"].items()}
    return out


def _v2_response(answer: Object) -> Object:
    content = answer.get("content")
    if not content:
        return {"description": "Unauthorized"}
    return {"description": "OK", "schema": _v2_schema(next(iter(content.values()))["schema"])}


def _v2_parameter(parameter: Object) -> Object:
    flat = {k: v for k, v in parameter.items() if k != "schema"}
    return {**flat, **parameter.get("schema", {})}


def _v2_schema(schema: Mapping[str, Any]) -> Object:
    """References point to definitions; keywords that Swagger 2.0 lacks are left out."""
    out: Object = {}
    for key, value in schema.items():
        if key == "$ref":
            out[key] = "#/definitions/" + value.removeprefix(COMPONENTS)
        elif key == "properties":
            out[key] = {name: _v2_schema(of) for name, of in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, Mapping):
            out[key] = _v2_schema(value)
        elif key == "oneOf":
            out.setdefault("type", "string")
        elif key != "nullable":
            out[key] = value
    return out
