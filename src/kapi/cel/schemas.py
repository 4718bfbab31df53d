"""Declarations from structural schemas: plain OpenAPI v3 dicts, as a CustomResourceDefinition carries them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from kapi.cel.declarations import (
    BOOLEAN,
    INTEGER,
    NUMBER,
    Declaration,
    Field,
    array_of,
    mapping_of,
    object_of,
)
from kapi.cel.escaping import escape
from kapi.cel.limits import MAX_REQUEST_SIZE
from kapi.cel.types import BYTES, DURATION, DYN, STRING, TIMESTAMP

Schema = Mapping[str, Any]

_LONGEST = MAX_REQUEST_SIZE - 2
_TEXT_SCHEMA: Schema = {"type": "string"}
_META_SCHEMA: Schema = {"type": "object", "properties": {"name": _TEXT_SCHEMA, "generateName": _TEXT_SCHEMA}}
# The least and the most JSON that a formatted string takes, quotes included.
_FORMATS = {"duration": (DURATION, 3, 32), "date": (TIMESTAMP, 12, 12), "date-time": (TIMESTAMP, 21, 32)}


def with_meta(schema: Schema) -> Schema:
    """The schema of a whole resource: rules may look at its kind and at its names."""
    properties = {**schema.get("properties", {})}
    properties |= {"kind": _TEXT_SCHEMA, "apiVersion": _TEXT_SCHEMA, "metadata": _META_SCHEMA}
    return {**schema, "properties": properties}


def declaration(schema: Schema | None, *, resource_root: bool = False) -> Declaration | None:
    """What a schema says to CEL; None where its values are out of reach of expressions."""
    if not schema:
        return None
    if schema.get("x-kubernetes-int-or-string"):
        return Declaration(type=DYN, min_size=1, max_elements=_max_length(schema))
    if resource_root:
        schema = with_meta(schema)
    match schema.get("type"):
        case "array":
            return _array(schema)
        case "object":
            return _object(schema)
        case "string":
            return _string(schema)
        case "boolean":
            return BOOLEAN
        case "number":
            return NUMBER
        case "integer":
            return INTEGER
    return None


def _max_length(schema: Schema) -> int:
    limit = schema.get("maxLength")
    return _LONGEST if limit is None else max(limit, 0) * 4


def _array(schema: Schema) -> Declaration | None:
    items = schema.get("items")
    element = declaration(items, resource_root=_embedded(items))
    if element is None:
        return None
    limit = schema.get("maxItems")
    most = max(limit, 0) if limit is not None else _LONGEST // (element.min_size + 1)
    keys = tuple(schema.get("x-kubernetes-list-map-keys", ()))
    return array_of(element, most, list_type=schema.get("x-kubernetes-list-type", ""), list_keys=keys)


def _embedded(schema: Schema | None) -> bool:
    return bool(schema and schema.get("x-kubernetes-embedded-resource"))


def _object(schema: Schema) -> Declaration | None:
    values = schema.get("additionalProperties")
    if isinstance(values, Mapping):
        element = declaration(values, resource_root=_embedded(values))
        if element is None:
            return None
        limit = schema.get("maxProperties")
        most = max(limit, 0) if limit is not None else _LONGEST // (element.min_size + 6)
        return mapping_of(element, most)
    fields: dict[str, Field] = {}
    required = frozenset(schema.get("required", ()))
    size = 2
    for name, prop in schema.get("properties", {}).items():
        made = declaration(prop, resource_root=_embedded(prop))
        if made is None:
            continue
        escaped = escape(name)
        if escaped is not None:
            fields[escaped] = Field(name=name, declaration=made)
        if name in required and prop.get("default") is None:
            size += len(name) + made.min_size + 4
    return object_of("object", fields, min_size=size)


def _string(schema: Schema) -> Declaration:
    formatted = _FORMATS.get(schema.get("format", ""))
    if formatted is not None:
        kind, least, most = formatted
        return Declaration(type=kind, min_size=least, max_elements=most)
    limit = schema.get("maxLength")
    if schema.get("format") == "byte":
        return Declaration(type=BYTES, max_elements=max(limit, 0) if limit is not None else _LONGEST)
    if limit is None and schema.get("enum"):
        longest = max((len(value.encode()) for value in schema["enum"] if isinstance(value, str)), default=0)
        return Declaration(type=STRING, max_elements=longest)
    return Declaration(type=STRING, max_elements=_max_length(schema))
