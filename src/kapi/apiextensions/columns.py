"""The table columns of a custom resource: its name, and what its definition asks for by JSONPath."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from kapi.api.objects import Object
from kapi.api.times import TimeError, canonical_time
from kapi.apiextensions.jsonpath import InvalidPath, compile_path
from kapi.registry.strategy import Cell
from kapi.registry.table import NAME, Column, age, created_at
from kapi.schema.structural_scalars import go_number

_AGE = Column("Age", created_at, type="date", show=age, description="When the object was created.")


def columns_of(version: Object) -> tuple[Column, ...]:
    wanted = version.get("additionalPrinterColumns")
    if not wanted:
        return (NAME, _AGE)
    try:
        return (NAME, *(_column(column) for column in wanted))
    except InvalidPath:
        return (NAME,)  # as upstream: one bad path costs all columns


def _column(column: Object) -> Column:
    kind = column["type"]
    return Column(
        column["name"],
        _value(compile_path(column["jsonPath"]), kind),
        type=kind,
        format=column.get("format", ""),
        priority=column.get("priority", 0),
        show=_shown_date if kind == "date" else None,
        description=column.get("description") or f"Found by JSONPath: {column['jsonPath']}",
    )


def _value(find: Callable[[Any], list[Any]], kind: str) -> Callable[[Object], Any]:
    def value_of(decoded: Object) -> Any:
        found = find(decoded)
        return _cell(kind, found[0]) if found else None

    return value_of


def _cell(kind: str, value: Any) -> Any:
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if kind == "string":
        return printed(value)
    if kind == "integer":
        return int(value) if is_number else None
    if kind == "number":
        return value if is_number else None
    if kind == "boolean":
        return value if isinstance(value, bool) else None
    return value if isinstance(value, str) else None


def printed(value: Any) -> str:
    """A value as a template prints it."""
    if value is None:
        return "<no value>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, float)):
        return go_number(value)
    return value if isinstance(value, str) else orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()


def _shown_date(value: str | None, now: float) -> Cell:
    if value is None:
        return None
    try:
        return age(canonical_time(value), now)
    except TimeError:
        return "<invalid>"
