"""OpenAPI of custom resources: what their definitions' schemas become when they are published.

A document is made when somebody reads it; its hash comes from the definitions alone, so that the index stays cheap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import orjson

from kapi.api.gvk import GroupVersion
from kapi.api.objects import Object
from kapi.endpoints.discovery import SELECTABLE, GroupVersionEntry, ResourceEntry
from kapi.endpoints.openapi import protobuf_v3
from kapi.endpoints.openapi.operations import LIST_PARAMETERS, Paths, query_parameters
from kapi.endpoints.openapi.schemas import COMPONENTS, built_in_kinds, meta, v3_schemas

_INFO = {"title": "Kubernetes CRD Swagger", "version": "v0.1.0"}
_MEDIA = ("application/json", "application/yaml")
_KINDS = "x-kubernetes-group-version-kind"
_SCALE = "io.k8s.api.autoscaling.v1.Scale"
_STRATEGIC = "application/strategic-merge-patch+json"
# What Swagger 2.0 cannot say, or clients of old take amiss.
_NOT_IN_V2 = ("oneOf", "anyOf", "allOf", "not", "nullable", "default")


def is_custom(entry: GroupVersionEntry) -> bool:
    return any(resource.schema is not None for resource in entry.resources)


class CustomDocument:
    """Of one group-version, in version 3."""

    def __init__(self, entry: GroupVersionEntry) -> None:
        self._entry = entry
        told = [str(entry.group_version), *(r.schema.token for r in entry.resources if r.schema is not None)]
        self.hash = hashlib.sha512(" ".join(told).encode()).hexdigest().upper()

    @cached_property
    def body(self) -> bytes:
        found = custom_paths(self._entry)
        schemas = {
            **v3_schemas(found.definitions - own_names(self._entry), self._entry.group_version),
            **custom_schemas(self._entry),
        }
        options = meta("DeleteOptions")
        if options in schemas:
            # As upstream, which has it from the Kube server: it is a kind of every built-in group-version.
            schemas[options] = {**schemas[options], "x-kubernetes-group-version-kind": built_in_kinds("DeleteOptions")}
        document = {
            "openapi": "3.0.0",
            "info": _INFO,
            "paths": dict(sorted(found.paths.items())),
            "components": {"schemas": dict(sorted(schemas.items()))},
        }
        return orjson.dumps(document)

    @cached_property
    def protobuf(self) -> bytes:
        return protobuf_v3.document(orjson.loads(self.body))


def definition_name(group_version: GroupVersion, kind: str) -> str:
    return ".".join([*reversed(group_version.group.split(".")), group_version.version, kind])


def own_names(entry: GroupVersionEntry) -> set[str]:
    return {definition_name(entry.group_version, kind) for r in entry.resources for kind in (r.kind, r.list_kind)}


def custom_paths(entry: GroupVersionEntry) -> Paths:
    paths = Paths(entry.group_version)
    for resource in entry.resources:
        name = definition_name(entry.group_version, resource.kind)
        paths.add(resource, name, watches=False)
        for sub in resource.subresources:
            # As upstream: told as operations on the resource itself, whatever kind they show.
            own = replace(sub, kind=resource.kind, group="", version="")
            paths.add_subresource(resource, own, _SCALE if sub.name == "scale" else name)
    for item in paths.paths.values():
        for method, operation in item.items():
            if method != "parameters":
                _adapt(method, operation)
    paths.definitions.add(meta("ObjectMeta"))
    paths.definitions.add(meta("ListMeta"))
    return paths


def _adapt(method: str, operation: Object) -> None:
    """A built-in resource's operation as custom resources have it."""
    if method == "patch":
        operation["responses"] = {code: r for code, r in operation["responses"].items() if code != "201"}
        content = operation["requestBody"]["content"]
        operation["requestBody"] = {
            **operation["requestBody"],
            "content": {media: c for media, c in content.items() if media != _STRATEGIC},
        }
    elif operation["x-kubernetes-action"] == "deletecollection":
        operation.pop("requestBody", None)
        operation["parameters"] = query_parameters(LIST_PARAMETERS)
    elif operation["x-kubernetes-action"] == "get":
        operation["parameters"] = query_parameters(("resourceVersion",))
    body = operation.get("requestBody")
    if body is not None and "*/*" in body["content"]:
        operation["requestBody"] = {**body, "content": dict.fromkeys(_MEDIA, body["content"]["*/*"])}
    operation["responses"] = {code: _plain_media(r) for code, r in operation["responses"].items()}


def _plain_media(response: Object) -> Object:
    content = response.get("content")
    return {"content": {m: content[m] for m in _MEDIA if m in content}} if content else response


def custom_schemas(entry: GroupVersionEntry) -> Object:
    found: Object = {}
    for resource in entry.resources:
        if resource.schema is not None:
            found |= _resource_schemas(entry.group_version, resource, resource.schema.read())
    return found


def _resource_schemas(group_version: GroupVersion, resource: ResourceEntry, schema: Object) -> Object:
    name = definition_name(group_version, resource.kind)
    whole = published(schema, is_resource=True)
    whole.setdefault("type", "object")
    items = {"type": "array", "items": {"$ref": COMPONENTS + name}}
    properties = {**_TYPE_META, "items": items, "metadata": _reference("ListMeta")}
    listing: Object = {"type": "object", "required": ["items"], "properties": properties}
    if SELECTABLE in whole:
        listing[SELECTABLE] = whole[SELECTABLE]
    return {
        name: {**whole, **_kinds(group_version, resource.kind)},
        definition_name(group_version, resource.list_kind): {**listing, **_kinds(group_version, resource.list_kind)},
    }


def _kinds(group_version: GroupVersion, kind: str) -> Object:
    group, version = group_version
    return {_KINDS: [{"group": group, "kind": kind, "version": version}]}


def _reference(kind: str) -> Object:
    return {"allOf": [{"$ref": COMPONENTS + meta(kind)}]}


_TYPE_META: Object = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}


def published(schema: Mapping[str, Any], *, is_resource: bool = False) -> Object:
    """A definition's schema with what is implied by it said."""
    out: Object = dict(schema)
    if "properties" in schema:
        out["properties"] = {name: published(child) for name, child in schema["properties"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), Mapping):
            out[key] = published(schema[key])
    if is_resource or schema.get("x-kubernetes-embedded-resource"):
        own = {**_TYPE_META, "metadata": _reference("ObjectMeta")}
        out["properties"] = {**out.get("properties", {}), **own}
        if not is_resource:
            out["required"] = [*schema.get("required", ()), "kind", "apiVersion"]
    if schema.get("x-kubernetes-int-or-string") and not schema.get("anyOf") and not schema.get("allOf"):
        out["anyOf"] = [{"type": "integer"}, {"type": "string"}]
    return out


def v2_definition(schema: Mapping[str, Any]) -> Object:
    """Of a whole resource: one that takes anything says no more than that it is an object."""
    if schema.get("x-kubernetes-preserve-unknown-fields"):
        return {"type": "object", **{key: schema[key] for key in (_KINDS, SELECTABLE) if key in schema}}
    return without_v3(schema)


def without_v3(schema: Mapping[str, Any]) -> Object:
    """A published schema for Swagger 2.0: what that cannot say is left open."""
    loose = schema.get("nullable") or schema.get("x-kubernetes-preserve-unknown-fields")
    out: Object = {}
    for key, value in schema.items():
        if key in _NOT_IN_V2 or (loose and key in ("type", "items", "properties", "additionalProperties", "required")):
            continue
        if key == "properties":
            out[key] = {name: _v2_property(child) for name, child in value.items()}
        elif key in ("items", "additionalProperties") and isinstance(value, Mapping):
            out[key] = _v2_property(value)
        else:
            out[key] = value
    return out


def _v2_property(schema: Mapping[str, Any]) -> Object:
    references: Iterable[Mapping[str, Any]] = schema.get("allOf") or ()
    reference = next((each["$ref"] for each in references if "$ref" in each), schema.get("$ref"))
    return {"$ref": reference} if reference is not None else without_v3(schema)
