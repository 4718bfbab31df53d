"""What keeps a merged object from being its type, in the words of upstream's converter.

It does not go through JSON: it takes whole numbers that are written with a fraction, and has words of its own for what
does not fit.
"""

from __future__ import annotations

from typing import Any

from kapi.schema.loader import field_order
from kapi.schema.types import Type

_BASES = {"string": "string", "boolean": "bool", "number": "float64"}


def whole(value: Any, schema: Type | None) -> Any:
    """The value with whole numbers where its type has integers."""
    if schema is None:
        return value
    if schema.kind == "integer" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return _truncated(int(value), schema) if value == int(value) else value
    if isinstance(value, list):
        return [whole(item, schema.element) for item in value]
    if isinstance(value, dict):
        return {key: whole(item, _below(schema, key)) for key, item in value.items()}
    return value


def _truncated(value: int, schema: Type) -> int:
    """As Go sets a smaller integer: what does not fit is cut off."""
    return (value + 0x80000000) % 0x100000000 - 0x80000000 if schema.format == "int32" else value


def problem(value: Any, schema: Type | None, go_type: str = "") -> str | None:
    """The first thing that does not fit, struct fields in Go's order; None when all does, as far as types tell."""
    if value is None or schema is None or schema.kind == "any" or schema.format in _OWN_FORMS:
        return None
    go_type = go_type.removeprefix("*")
    if schema.kind == "object":
        return _struct_problem(value, schema)
    if schema.kind == "map":
        return _map_problem(value, schema, go_type.partition("]")[2])
    if schema.kind == "list" or schema.format == "byte":
        return _list_problem(value, schema, go_type.removeprefix("[]"))
    return _scalar_problem(value, schema, go_type)


_OWN_FORMS = frozenset(("quantity", "int-or-string", "date-time", "micro-time", "raw", "json"))


def _struct_problem(value: Any, schema: Type) -> str | None:
    if not isinstance(value, dict):
        return f"cannot restore struct from: {_kind(value)}"
    for key in field_order(schema.name) or sorted(schema.fields):
        field = schema.fields.get(key)
        if key in value and field is not None:
            found = problem(value[key], field.type, field.go.type if field.go is not None else "")
            if found is not None:
                return found
    return None


def _map_problem(value: Any, schema: Type, go_type: str) -> str | None:
    if not isinstance(value, dict):
        return f"cannot restore map from {_kind(value)}"
    found = (problem(value[key], schema.element, go_type) for key in sorted(value))
    return next((why for why in found if why is not None), None)


def _list_problem(value: Any, schema: Type, go_type: str) -> str | None:
    if isinstance(value, str) and schema.format == "byte":
        return None
    if not isinstance(value, list):
        return f"cannot restore slice from {_kind(value)}"
    found = (problem(item, schema.element, go_type) for item in value)
    return next((why for why in found if why is not None), None)


def _scalar_problem(value: Any, schema: Type, go_type: str) -> str | None:
    base = _BASES.get(schema.kind) or schema.format or "int64"
    given = _kind(value)
    if given == base or (given == "int64" and base.startswith(("int", "float"))):
        return None
    # Go converts any number to any other, and an integer to the text of that character: those it names.
    if given in ("int64", "float64") and (base.startswith(("int", "float")) or (given, base) == ("int64", "string")):
        return f"cannot convert {given} to {go_type or base}"
    return f"unrecognized type: {base}"


def _below(schema: Type, key: str) -> Type | None:
    field = schema.fields.get(key)
    return field.type if field is not None else schema.element


def _kind(value: Any) -> str:
    """As reflection names the kinds of what JSON is read into."""
    if isinstance(value, dict):
        return "map"
    if isinstance(value, list):
        return "slice"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    return "float64" if isinstance(value, float) else "int64"
