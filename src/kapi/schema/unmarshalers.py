"""Types that read JSON by themselves: times, quantities, integers or strings.

Go's decoder goes on after a value that does not fit, and tells the first such value in the end. But it stops where one
of these types cannot read its value, and tells that instead. Only what has been refused is looked at in this way.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kapi.schema.errors import TypeMismatch
from kapi.schema.scalars import scalar
from kapi.schema.types import Type

_FORMATS = frozenset(("quantity", "int-or-string", "date-time", "micro-time"))


def first_unread(value: Any, type_: Type | None) -> TypeMismatch | None:
    """What the first of these types that fails says, if one does."""
    if value is None or type_ is None:
        return None
    if type_.format in _FORMATS:
        return _unread(value, type_)
    if type_.kind == "object" and isinstance(value, dict):
        return _unread_field(value, type_)
    items: Iterable[Any] = ()
    if type_.kind == "list" and isinstance(value, list):
        items = value
    elif type_.kind == "map" and isinstance(value, dict):
        items = value.values()
    return next((found for item in items if (found := first_unread(item, type_.element)) is not None), None)


def _unread(value: Any, type_: Type) -> TypeMismatch | None:
    _, check, _ = scalar(type_)
    try:
        if check is not None:
            check(value, [])
    except TypeMismatch as mismatch:
        return mismatch
    return None


def _unread_field(value: dict[str, Any], type_: Type) -> TypeMismatch | None:
    for key, item in value.items():
        field = type_.fields.get(key)
        found = first_unread(item, field.type) if field is not None else None
        if found is not None and field is not None:
            found.inside(type_.name.rpartition(".")[2], field.go, key)
            return found
    return None
