"""Settling: what decoding does to a custom resource, in place. Unknown fields go, nulls go, defaults come.

Unknown fields are paths, as suffixes that grow on the way up, so that a clean object never pays for them. Numbers take
the form in which Go holds them: an integer where one fits, else a float.
"""

from __future__ import annotations

from typing import Any

import orjson

from kapi.api.fields import FieldError, invalid
from kapi.api.objects import Object
from kapi.schema.compile import decode
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import META, named_type
from kapi.schema.structural import META_FIELDS, Structural
from kapi.schema.structural_embedded import embedded

_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1


class Malformed(ValueError):
    """The metadata of an object, or of one embedded in it, is not what it must be."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class _EmbeddedMalformed(Exception):
    """The same, inside: the path is not known yet."""

    def __init__(self, suffix: str, value: Any, why: str) -> None:
        super().__init__(why)
        self.suffix, self.value, self.why = suffix, value, why

    @property
    def error(self) -> FieldError:
        shown = dict(sorted(self.value.items())) if isinstance(self.value, dict) else self.value
        return invalid(self.suffix[1:], shown, self.why)


def settle(node: Structural, obj: Object, *, forgiving: bool = False) -> list[str]:
    """Prune an object of what its schema does not know, and bring its metadata into shape: the paths of what went.

    Raises Malformed, unless `forgiving`: then malformed metadata is dropped, as from what is stored already.
    """
    unknown: list[str] = []
    metadata = obj.get("metadata")
    if metadata is not None:
        if metadata.__class__ is not dict:
            if not forgiving:
                raise Malformed(TypeMismatch(metadata, "v1.ObjectMeta").message)
            metadata = obj["metadata"] = {}
        unknown += [f".metadata.{path}" for path in _settle_metadata(metadata, forgiving=forgiving)]
    pruned: list[str] = []
    try:
        _members(node, obj, pruned, is_resource=True, forgiving=forgiving)
    except _EmbeddedMalformed as malformed:
        raise Malformed(str(malformed.error)) from None
    return [path[1:] for path in [*unknown, *sorted(pruned)]]


def normalize(value: Any) -> Any:
    """Numbers as Go holds them: whole floats as integers, integers beyond 64 bits as floats."""
    kind = value.__class__
    if kind is dict:
        for key, item in value.items():
            inner = item.__class__
            if inner is dict or inner is list:
                normalize(item)
            elif inner is not str:
                value[key] = normalize(item)
    elif kind is list:
        value[:] = [normalize(item) for item in value]
    elif kind is int:
        return value if _LOWEST <= value <= _HIGHEST else float(value)
    elif isinstance(value, float):
        return int(value) if value.is_integer() and _LOWEST <= value <= _HIGHEST else float(value)
    return value


def prune(node: Structural | None, value: Any, unknown: list[str], *, forgiving: bool = False) -> None:
    """Drop what the schema does not know from a value, and nulls where none may be."""
    kind = value.__class__
    if kind is dict:
        if node is None:
            unknown += [f".{key}" for key in value]
            value.clear()
        else:
            _members(node, value, unknown, is_resource=node.embedded, forgiving=forgiving)
    elif kind is list:
        items = node.items if node is not None else None
        if node is not None and node.preserves and items is None:
            return
        mark = len(unknown)
        for index, item in enumerate(value):
            if item.__class__ is dict or item.__class__ is list:
                try:
                    prune(items, item, unknown, forgiving=forgiving)
                except _EmbeddedMalformed as malformed:
                    malformed.suffix = f"[{index}]{malformed.suffix}"
                    raise
                if len(unknown) != mark:
                    unknown[mark:] = [f"[{index}]{path}" for path in unknown[mark:]]
                    mark = len(unknown)


def _members(
    node: Structural, value: dict[str, Any], unknown: list[str], *, is_resource: bool, forgiving: bool
) -> None:
    properties = node.properties
    gone: list[str] = []
    mark = len(unknown)
    for key, item in value.items():
        child = properties.get(key)
        if is_resource and key in META_FIELDS:
            if node.embedded:
                _embedded(value, key, item, unknown, forgiving=forgiving, gone=gone)
                mark = len(unknown)
            continue
        if child is None:
            if not node.has_additional:
                if not node.preserves:
                    unknown.append(f".{key}")
                    mark += 1
                    gone.append(key)
                continue
            child = node.additional
        if item is None:
            if child is not None and not child.nullable and not child.has_default:
                gone.append(key)
        elif item.__class__ is dict or item.__class__ is list:
            try:
                prune(child, item, unknown, forgiving=forgiving)
            except _EmbeddedMalformed as malformed:
                malformed.suffix = f"{f'.{key}' if key in properties else f'[{key}]'}{malformed.suffix}"
                raise
            if len(unknown) != mark:
                unknown[mark:] = [f".{key}{path}" for path in unknown[mark:]]
                mark = len(unknown)
    for key in gone:
        del value[key]


def _embedded(
    value: dict[str, Any], key: str, item: Any, unknown: list[str], *, forgiving: bool, gone: list[str]
) -> None:
    if key != "metadata":
        if item.__class__ is not str:
            if not forgiving:
                raise _EmbeddedMalformed(f".{key}", item, "must be a string")
            gone.append(key)
        return
    if item is None:
        value[key] = {}
    elif item.__class__ is dict:
        try:
            unknown += [f".metadata.{path}" for path in _settle_metadata(item, forgiving=forgiving)]
        except Malformed as malformed:
            raise _EmbeddedMalformed(".metadata", item, malformed.message) from None
    elif not forgiving:
        raise _EmbeddedMalformed(".metadata", item, TypeMismatch(item, "v1.ObjectMeta").message)


def settle_embedded(
    node: Structural, value: Any, path: str = "", *, is_resource: bool = False, forgiving: bool = False
) -> FieldError | None:
    """Bring the kinds and metadata of all resources embedded in a value into shape; what is wrong with the first."""
    for at, resource in embedded(node, value, path, is_resource=is_resource):
        gone: list[str] = []
        for key in [key for key in resource if key in META_FIELDS]:
            try:
                _embedded(resource, key, resource[key], [], forgiving=forgiving, gone=gone)
            except _EmbeddedMalformed as malformed:
                return invalid(f"{at}{malformed.suffix}".removeprefix("."), malformed.value, malformed.why)
        for key in gone:
            del resource[key]
    return None


def _settle_metadata(metadata: Object, *, forgiving: bool) -> list[str]:
    type_ = named_type(f"{META}.ObjectMeta")
    shown = orjson.dumps(metadata) if forgiving else b""
    try:
        return decode(type_, metadata)
    except TypeMismatch as mismatch:
        if not forgiving:
            raise Malformed(mismatch.message) from None
    kept: Object = {}
    for key, item in orjson.loads(shown).items():
        single = {key: item}
        try:
            decode(type_, single)
        except TypeMismatch:
            continue
        kept |= single
    metadata.clear()
    metadata |= kept
    return []


def apply_defaults(node: Structural | None, value: Any) -> None:
    """Write the schema's defaults into a value."""
    if node is None or not node.defaults_below:
        return
    if value.__class__ is dict:
        _default_members(node, value)
    elif value.__class__ is list:
        items = node.items
        if items is None:
            return
        for index, item in enumerate(value):
            if item is None and not items.nullable:
                value[index] = item = fresh(items.default)
            apply_defaults(items, item)


def _default_members(node: Structural, value: dict[str, Any]) -> None:
    properties = node.properties
    for key, child in properties.items():
        if child.has_default and (key not in value or (value[key] is None and not child.nullable)):
            value[key] = _own_default(node, key, child)
    additional = node.additional
    for key, item in value.items():
        child_ = properties.get(key)
        if child_ is not None:
            apply_defaults(child_, item)
        elif additional is not None:
            if item is None and not additional.nullable:
                value[key] = item = fresh(additional.default)
            apply_defaults(additional, item)


def _own_default(node: Structural, key: str, child: Structural) -> Any:
    """As upstream prunes defaults: metadata in them is brought into the shape that this server knows."""
    default = fresh(child.default)
    if node.embedded and key == "metadata":
        _settle_metadata(default, forgiving=True)
    else:
        settle_embedded(child, default, forgiving=True)
    return default


def fresh(default: Any) -> Any:
    """A default that shares nothing with the schema."""
    return orjson.loads(orjson.dumps(default)) if default.__class__ in (dict, list) else default
