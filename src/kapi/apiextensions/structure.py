"""Structural schemas: what makes a schema structural, so that objects can be pruned and defaulted by it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from kapi.api.fields import FieldError, forbidden, invalid, required
from kapi.api.objects import Object
from kapi.api.patterns import PatternError, compiled

Level: TypeAlias = Literal["root", "item", "field"]

_INT_OR_STRING = [{"type": "integer"}, {"type": "string"}]
_EMPTY_TYPE: dict[Level, str] = {
    "root": "must not be empty at the root",
    "item": "must not be empty for specified array items",
    "field": "must not be empty for specified object fields",
}
_UNSUPPORTED = {
    "id": "id",
    "$schema": "schema",
    "$ref": "$ref",
    "patternProperties": "patternProperties",
    "dependencies": "dependencies",
    "additionalItems": "additionalItems",
    "definitions": "definitions",
}
# What a nested value validation may not say, and how that is put.
_NESTED = {
    "default": "must be undefined to be structural",
    "title": "must be empty to be structural",
    "description": "must be empty to be structural",
    "nullable": "must be false to be structural",
    "x-kubernetes-preserve-unknown-fields": "must be false to be structural",
    "x-kubernetes-embedded-resource": "must be false to be structural",
    "x-kubernetes-int-or-string": "must be false to be structural",
    "x-kubernetes-list-map-keys": "must be empty to be structural",
    "x-kubernetes-list-type": "must be undefined to be structural",
    "x-kubernetes-map-type": "must be undefined to be structural",
    "x-kubernetes-validations": "must be empty to be structural",
}


_SCALARS = frozenset(("string", "integer", "number", "boolean"))
_HARMLESS = frozenset(
    (
        "type",
        "description",
        "title",
        "format",
        "enum",
        "example",
        "nullable",
        "default",
        "minimum",
        "maximum",
        "minLength",
        "maxLength",
        "multipleOf",
    )
)


def is_plain(s: Object) -> bool:
    """A scalar that says nothing any rule could be about: most of what schemas are made of."""
    return s.get("type") in _SCALARS and s.keys() <= _HARMLESS


def unsupported(schema: Any) -> str:
    """What a structural schema cannot hold at all; empty when there is nothing of that."""
    if not isinstance(schema, dict):
        return ""
    for key, name in _UNSUPPORTED.items():
        if schema.get(key) is not None and schema.get(key) != "":
            return f"OpenAPIV3Schema '{name}' is not supported"
    if isinstance(schema.get("items"), list):
        return "OpenAPIV3Schema 'items' must be a schema, but is an array"
    if schema.get("x-kubernetes-preserve-unknown-fields") is False:
        return "internal error: 'x-kubernetes-preserve-unknown-fields' must be true or undefined"
    below = [schema.get("items"), schema.get("additionalProperties"), schema.get("not")]
    for key in ("allOf", "anyOf", "oneOf"):
        below += schema.get(key) or ()
    below += [child for child in (schema.get("properties") or {}).values() if not is_plain(child)]
    return next(filter(None, map(unsupported, below)), "")


def validate_structure(schema: Object, path: str) -> list[FieldError]:
    """Sorted by their text, as upstream does for the sake of its maps."""
    return sorted([*_invariants(schema, "root", path), *_completeness(schema, schema, path, path)], key=str)


def _invariants(s: Object, level: Level, path: str) -> Iterator[FieldError]:
    kind, items, additional = s.get("type", ""), s.get("items"), s.get("additionalProperties")
    if kind == "array" and items is None:
        yield required(f"{path}.items", "must be specified")
    if items is not None:
        yield from _invariants(items, "item", f"{path}.items")
    properties = s.get("properties") or {}
    for name, child in properties.items():
        if not is_plain(child):
            yield from _invariants(child, "field", f"{path}.properties[{name}]")
    if additional is not None:
        if level == "root":
            yield forbidden(f"{path}.additionalProperties", "must not be used at the root")
        if isinstance(additional, dict):
            yield from _invariants(additional, "field", f"{path}.additionalProperties")
    yield from _extensions(s, path)
    skip = s.get("anyOf") == _INT_OR_STRING
    all_of: list[Object] = s.get("allOf") or []
    skip_first = bool(all_of) and all_of[0].get("anyOf") == _INT_OR_STRING
    yield from _value_validation(s, path, skip_any_of=skip, skip_first=skip_first)
    yield from _type(s, level, path)
    yield from _metadata(s, level, path, properties)
    embedded = s.get("x-kubernetes-embedded-resource")
    if embedded and not s.get("x-kubernetes-preserve-unknown-fields") and not properties:
        why = "must not be empty if x-kubernetes-embedded-resource is true without x-kubernetes-preserve-unknown-fields"
        yield required(f"{path}.properties", why)


def _extensions(s: Object, path: str) -> Iterator[FieldError]:
    if s.get("x-kubernetes-int-or-string"):
        for key in ("x-kubernetes-preserve-unknown-fields", "x-kubernetes-embedded-resource"):
            if s.get(key):
                yield invalid(f"{path}.{key}", True, "must be false if x-kubernetes-int-or-string is true")


def _type(s: Object, level: Level, path: str) -> Iterator[FieldError]:
    kind, embedded = s.get("type", ""), s.get("x-kubernetes-embedded-resource")
    if embedded and kind != "object":
        why = "must be object if x-kubernetes-embedded-resource is true"
        yield invalid(f"{path}.type", kind, why) if kind else required(f"{path}.type", why)
    elif not kind and not s.get("x-kubernetes-int-or-string") and not s.get("x-kubernetes-preserve-unknown-fields"):
        yield required(f"{path}.type", _EMPTY_TYPE[level])
    if embedded and s.get("additionalProperties") is not None:
        why = "must not be used if x-kubernetes-embedded-resource is set"
        yield forbidden(f"{path}.additionalProperties", why)
    if level == "root" and kind and kind != "object":
        yield invalid(f"{path}.type", kind, "must be object at the root")


def _metadata(s: Object, level: Level, path: str, properties: Object) -> Iterator[FieldError]:
    """A resource's own fields have the types they have; of its metadata only the name can be restricted."""
    is_resource = level == "root" or bool(s.get("x-kubernetes-embedded-resource"))
    for name in ("kind", "apiVersion"):
        kind = properties.get(name, {}).get("type", "")
        if is_resource and name in properties and kind != "string":
            yield invalid(f"{path}.properties[{name}].type", kind, "must be string")
    metadata = properties.get("metadata")
    if metadata is None:
        return
    at = f"{path}.properties[metadata]"
    if is_resource and metadata.get("type") != "object":
        yield invalid(f"{at}.type", metadata.get("type", ""), "must be object")
    if level == "root":
        rest = {key for key in metadata if key not in ("type", "default")}
        if rest == {"properties"} and metadata["properties"].keys() <= {"name", "generateName"}:
            rest = set()
        if rest:
            why = "must not specify anything other than name and generateName, but metadata is implicitly specified"
            yield forbidden(at, why)


def _value_validation(
    s: Object, path: str, *, skip_any_of: bool = False, skip_first: bool = False
) -> Iterator[FieldError]:
    for key in ("anyOf", "allOf", "oneOf"):
        if key == "anyOf" and skip_any_of:
            continue
        for i, nested in enumerate(s.get(key) or ()):
            skip = key == "allOf" and skip_first and i == 0
            yield from _nested(nested, f"{path}.{key}[{i}]", skip_any_of=skip)
    if s.get("not") is not None:
        yield from _nested(s["not"], f"{path}.not")
    pattern = s.get("pattern")
    if pattern:
        try:
            compiled(pattern)
        except PatternError as why:
            yield invalid(f"{path}.pattern", pattern, f"must be a valid regular expression, but isn't: {why}")


def _nested(v: Object, path: str, *, skip_any_of: bool = False) -> Iterator[FieldError]:
    yield from _value_validation(v, path, skip_any_of=skip_any_of)
    if isinstance(v.get("items"), dict):
        yield from _nested(v["items"], f"{path}.items")
    properties = v.get("properties") or {}
    for name, child in properties.items():
        yield from _nested(child, f"{path}.properties[{name}]")
    if v.get("type"):
        yield forbidden(f"{path}.type", "must be empty to be structural")
    additional = v.get("additionalProperties")
    if additional is not None and additional is not False:
        yield forbidden(f"{path}.additionalProperties", "must be undefined to be structural")
    for key, why in _NESTED.items():
        if v.get(key):
            yield forbidden(f"{path}.{key}", why)
    if "metadata" in properties:
        yield forbidden(f"{path}.properties[metadata]", "must not be specified in a nested context")


def _completeness(v: Object, s: Object | None, s_path: str, v_path: str) -> Iterator[FieldError]:
    """Whatever a value validation speaks of is specified outside of it, too."""
    nested: list[tuple[Object, str]] = [(v["not"], f"{v_path}.not")] if v.get("not") is not None else []
    for key in ("allOf", "anyOf", "oneOf"):
        nested += [(each, f"{v_path}.{key}[{i}]") for i, each in enumerate(v.get(key) or ())]
    for each, at in nested:
        yield from _nested_completeness(each, s, s_path, at)


def _nested_completeness(v: Object, s: Object | None, s_path: str, v_path: str) -> Iterator[FieldError]:
    if s is None:
        yield required(s_path, f"because it is defined in {v_path}")
        return
    yield from _completeness(v, s, s_path, v_path)
    if isinstance(v.get("items"), dict):
        yield from _nested_completeness(v["items"], s.get("items"), f"{s_path}.items", f"{v_path}.items")
    for name, child in (v.get("properties") or {}).items():
        at, below = f"{s_path}.properties[{name}]", f"{v_path}.properties[{name}]"
        known = (s.get("properties") or {}).get(name)
        yield from _nested_completeness(child, known, at, below)
