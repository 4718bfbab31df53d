"""Rules for the schemas of definitions, node by node: what OpenAPI allows here, and Kubernetes' own extensions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.apiextensions.field_path import InvalidFieldPath, follow
from kapi.apiextensions.structure import is_plain
from kapi.schema.structural import META_FIELDS, Structural

_TYPES = ("array", "boolean", "integer", "number", "object", "string")
_REASONS = ("FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired")
_REFUSED = ("id", "additionalItems", "patternProperties", "definitions", "dependencies", "$ref")
_NEWLINE = re.compile(r"[\n\r]")
_MAP_KEY_DEFAULT = "this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property"


@dataclass(frozen=True, slots=True)
class Place:
    """What holds where a schema stands. `no_defaults` says why defaults are refused there."""

    no_defaults: str | None = None
    in_metadata: bool = False


def validate_schema(schema: Object, path: str) -> list[FieldError]:
    return list(_schema(schema, path, Place(), is_root=True))


def _schema(s: Object, path: str, place: Place, *, is_root: bool = False) -> Iterator[FieldError]:
    yield from _own(s, path, place)
    if s.get("uniqueItems"):
        why = "uniqueItems cannot be set to true since the runtime complexity becomes quadratic"
        yield forbidden(f"{path}.uniqueItems", why)
    yield from _additional(s, path, place)
    for name, child in (s.get("properties") or {}).items():
        inner = place
        if (is_root or s.get("x-kubernetes-embedded-resource")) and name in META_FIELDS:
            reason = f"in top-level {name}" if is_root else place.no_defaults
            inner = replace(place, in_metadata=True, no_defaults=reason)
        if is_plain(child) and (inner.no_defaults is None or "default" not in child):
            continue
        yield from _schema(child, f"{path}.properties[{name}]", inner)
    if s.get("not") is not None:
        yield from _schema(s["not"], f"{path}.not", place)
    for key in ("allOf", "oneOf", "anyOf"):
        for i, child in enumerate(s.get(key) or ()):
            yield from _schema(child, f"{path}.{key}[{i}]", place)
    for name, child in (s.get("definitions") or {}).items():
        yield from _schema(child, f"{path}.definitions[{name}]", place)
    items = s.get("items")
    if isinstance(items, dict):
        yield from _schema(items, f"{path}.items", place)
    for i, child in enumerate(items if isinstance(items, list) else ()):
        yield from _schema(child, f"{path}.items[{i}]", place)
    for name, child in (s.get("dependencies") or {}).items():
        if isinstance(child, dict):
            yield from _schema(child, f"{path}.dependencies[{name}]", place)
    if s.get("x-kubernetes-preserve-unknown-fields") is False:
        yield invalid(f"{path}.x-kubernetes-preserve-unknown-fields", False, "must be true or undefined")
    yield from _map_type(s, path)
    yield from _list_type(s, path)
    yield from _map_keys(s, path)
    yield from _rules(s, path)


def _own(s: Object, path: str, place: Place) -> Iterator[FieldError]:
    """What no schema may say."""
    kind = s.get("type", "")
    if kind and kind not in _TYPES:
        yield not_supported(f"{path}.type", kind, _TYPES, in_order=True)
    if s.get("default") is not None and place.no_defaults is not None:
        yield forbidden(f"{path}.default", f"must not be set {place.no_defaults}".rstrip())
    for key in _REFUSED:
        if s.get(key) is not None and s.get(key) != "":
            yield forbidden(f"{path}.{key}", f"{key} is not supported")
    if kind == "null":
        yield forbidden(f"{path}.type", "type cannot be set to null, use nullable as an alternative")
    if isinstance(s.get("items"), list):
        yield forbidden(f"{path}.items", "items must be a schema object and not an array")
    if place.in_metadata and s.get("x-kubernetes-embedded-resource"):
        yield forbidden(f"{path}.x-kubernetes-embedded-resource", "must not be used inside of resource meta")


def _additional(s: Object, path: str, place: Place) -> Iterator[FieldError]:
    additional = s.get("additionalProperties")
    if additional is None:
        return
    at = f"{path}.additionalProperties"
    if s.get("properties") and additional is not True:
        yield forbidden(at, "additionalProperties and properties are mutual exclusive")
    if isinstance(additional, dict):
        inner = place
        if place.in_metadata:
            inner = replace(place, no_defaults="inside additionalProperties applying to object metadata")
        yield from _schema(additional, at, inner)


def _map_type(s: Object, path: str) -> Iterator[FieldError]:
    map_type, kind = s.get("x-kubernetes-map-type"), s.get("type", "")
    if map_type is None:
        return
    if kind != "object":
        yield _needs_type(path, kind, "object", "x-kubernetes-map-type")
    if map_type not in ("atomic", "granular"):
        yield not_supported(f"{path}.x-kubernetes-map-type", map_type, ("atomic", "granular"), in_order=True)


def _needs_type(path: str, kind: str, wanted: str, extension: str) -> FieldError:
    why = f"must be {wanted} if {extension} is specified"
    return invalid(f"{path}.type", kind, why) if kind else required(f"{path}.type", why)


def _list_type(s: Object, path: str) -> Iterator[FieldError]:
    list_type, kind, items = s.get("x-kubernetes-list-type"), s.get("type", ""), s.get("items")
    if list_type is not None and kind != "array":
        yield _needs_type(path, kind, "array", "x-kubernetes-list-type")
    elif list_type == "set" and isinstance(items, dict):
        why = "must be atomic as item of a list with x-kubernetes-list-type=set"
        inner = items.get("x-kubernetes-list-type")
        if items.get("type") == "array" and inner not in (None, "atomic"):
            yield invalid(f"{path}.items.x-kubernetes-list-type", inner, why)
        elif items.get("type") == "object" and items.get("x-kubernetes-map-type") != "atomic":
            # As upstream: it shows the list type, which is not the one that is wrong.
            yield invalid(f"{path}.items.x-kubernetes-map-type", inner, why)
    if list_type not in (None, "atomic", "set", "map"):
        supported = ("atomic", "set", "map")
        yield not_supported(f"{path}.x-kubernetes-list-type", list_type, supported, in_order=True)
    if s.get("x-kubernetes-list-map-keys") and list_type != "map":
        why = "must be map if x-kubernetes-list-map-keys is non-empty"
        at = f"{path}.x-kubernetes-list-type"
        yield required(at, why) if list_type is None else invalid(at, list_type, why)
    if list_type == "map":
        yield from _list_map(s, path, items)


def _list_map(s: Object, path: str, items: Any) -> Iterator[FieldError]:
    keys: list[str] = s.get("x-kubernetes-list-map-keys") or []
    if not keys:
        why = "must not be empty if x-kubernetes-list-type is map"
        yield required(f"{path}.x-kubernetes-list-map-keys", why)
    if items is None:
        yield required(f"{path}.items", "must have a schema if x-kubernetes-list-type is map")
    elif not isinstance(items, dict):
        yield invalid(f"{path}.items", items, "must only have a single schema if x-kubernetes-list-type is map")
    elif items.get("type") != "object":
        why = "must be object if parent array's x-kubernetes-list-type is map"
        yield invalid(f"{path}.items.type", items.get("type", ""), why)
    else:
        yield from _list_map_keys(keys, items.get("properties") or {}, path)


def _list_map_keys(keys: list[str], properties: Object, path: str) -> Iterator[FieldError]:
    at = f"{path}.x-kubernetes-list-map-keys"
    for i, key in enumerate(keys):
        if key not in properties:
            yield invalid(at, keys, "entries must all be names of item properties")
        elif properties[key].get("type") in ("array", "object"):
            why = "must be a scalar type if parent array's x-kubernetes-list-type is map"
            # As upstream: it shows the type of the item, not of the key.
            yield invalid(f"{path}.items.properties[{key}].type", "object", why)
        if key in keys[:i]:
            yield invalid(at, keys, "must not contain duplicate entries")


def _map_keys(s: Object, path: str) -> Iterator[FieldError]:
    """Elements of sets and maps are there, and so are the keys of maps."""
    items, list_type = s.get("items"), s.get("x-kubernetes-list-type")
    if not isinstance(items, dict) or list_type not in ("set", "map"):
        return
    if items.get("nullable"):
        yield forbidden(f"{path}.items.nullable", f"cannot be nullable when x-kubernetes-list-type is {list_type}")
    if list_type == "set":
        return
    always = items.get("required") or ()
    for key in s.get("x-kubernetes-list-map-keys") or ():
        found = (items.get("properties") or {}).get(key)
        if found is None:
            continue
        at = f"{path}.items.properties[{key}]"
        if key not in always and found.get("default") is None:
            yield required(f"{at}.default", _MAP_KEY_DEFAULT)
        if found.get("nullable"):
            why = "this property is in x-kubernetes-list-map-keys, so it cannot be nullable"
            yield forbidden(f"{at}.nullable", why)


def _rules(s: Object, path: str) -> Iterator[FieldError]:
    for i, rule in enumerate(s.get("x-kubernetes-validations") or ()):
        yield from _rule(s, rule, f"{path}.x-kubernetes-validations[{i}]")


def _rule(s: Object, rule: Object, at: str) -> Iterator[FieldError]:
    """The form of a rule; what it says is judged by whoever understands it."""
    text, message = rule.get("rule", ""), rule.get("message", "")
    if not text.strip():
        yield required(f"{at}.rule", "rule is not specified")
    elif message and not message.strip():
        yield invalid(f"{at}.message", message, "must be non-empty if specified")
    elif _NEWLINE.search(message.strip()):
        yield invalid(f"{at}.message", message, "must not contain line breaks")
    elif _NEWLINE.search(text.strip()) and not message.strip():
        yield required(f"{at}.message", "message must be specified if rule contains line breaks")
    expression = rule.get("messageExpression", "")
    if expression and not expression.strip():
        yield required(f"{at}.messageExpression", "messageExpression must be non-empty if specified")
    reason = rule.get("reason")
    if reason is not None and reason not in _REASONS:
        yield not_supported(f"{at}.reason", reason, _REASONS, in_order=True)
    field = rule.get("fieldPath", "")
    if not field:
        return
    if not field.strip():
        yield invalid(f"{at}.fieldPath", field, "must be non-empty if specified")
    if _NEWLINE.search(field):
        yield invalid(f"{at}.fieldPath", field, "must not contain line breaks")
    try:
        follow(field, Structural(s))
    except InvalidFieldPath:
        yield invalid(f"{at}.fieldPath", field, "must be a valid path")
