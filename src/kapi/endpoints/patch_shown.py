"""How an object that a patch made is shown in the message that refuses it: as upstream's libraries write it.

What the patch went through has its fields by name; what it left alone is written as Go writes a struct, or by name as
well where there is none, as for custom resources.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeAlias

import orjson

from kapi.patch.json_patch import parts
from kapi.schema.loader import field_order
from kapi.schema.types import Type

# What of a value a patch went through: by key or index. None: it left the value alone; True: it gave the value.
Touched: TypeAlias = "dict[str, Touched] | bool | None"

# As Go writes JSON for HTML; none of these stands outside a string.
_ESCAPED = {ord(char): f"\\u{ord(char):04x}" for char in "<>&\u2028\u2029"}


def shown(new: Any, touched: Touched, schema: Type | None) -> str:
    return orjson.dumps(_written(new, touched, schema)).decode().translate(_ESCAPED)


def touched_by_merge(patch: Any) -> Touched:
    """All of it: what it gives is without its nulls, so none of that is left as it was sent."""
    if isinstance(patch, dict):
        return {key: touched_by_merge(value) for key, value in patch.items()}
    if isinstance(patch, list):
        return {str(index): touched_by_merge(value) for index, value in enumerate(patch)}
    return None


def touched_by_operations(patch: Iterable[Any]) -> Touched:
    found: dict[str, Touched] = {}
    for operation in patch:
        gives = operation.get("op") in ("add", "replace")
        for pointer in filter(None, (operation.get("path"), operation.get("from"))):
            _follow(found, parts(pointer), gives=gives)
    return found


def _follow(found: dict[str, Touched], path: list[str], *, gives: bool) -> None:
    at = found
    for part in path[:-1]:
        below = at.get(part)
        if not isinstance(below, dict):
            below = at[part] = {}
        at = below
    at[path[-1]] = True if gives else at.get(path[-1])


def _written(value: Any, touched: Touched, schema: Type | None) -> Any:
    if touched is True:
        return value
    if not isinstance(touched, dict):
        return _as_struct(value, schema)
    if isinstance(value, list):
        return [_written(item, touched.get(str(i)), _element(schema)) for i, item in enumerate(value)]
    if not isinstance(value, dict):
        return value
    return {key: _written(value[key], touched.get(key), _field(schema, key)) for key in sorted(value)}


def _as_struct(value: Any, schema: Type | None) -> Any:
    if isinstance(value, list):
        return [_as_struct(item, _element(schema)) for item in value]
    if not isinstance(value, dict):
        return value
    first = field_order(schema.name) if schema is not None and schema.name else ()
    keys = [*(key for key in first if key in value), *sorted(value.keys() - set(first))]
    return {key: _as_struct(value[key], _field(schema, key)) for key in keys}


def _field(schema: Type | None, key: str) -> Type | None:
    if schema is None:
        return None
    field = schema.fields.get(key)
    return field.type if field is not None else schema.element


def _element(schema: Type | None) -> Type | None:
    return schema.element if schema is not None else None
