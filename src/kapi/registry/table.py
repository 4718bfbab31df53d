"""Tables: the columns of a resource and how an object fills them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from kapi.api.objects import Object
from kapi.registry.strategy import Cell


@dataclass(frozen=True, slots=True)
class Column:
    """`value` is computed once per stored object; `show`, if any, turns it into a cell at the time of the request."""

    name: str
    value: Callable[[Object], Any]
    type: str = "string"
    format: str = ""
    priority: int = 0
    show: Callable[[Any, float], Cell] | None = None
    description: str = ""
    hidden: bool = False  # a cell in every row, but no heading: as upstream's IPAddresses have one

    @property
    def definition(self) -> Object:
        return {
            "name": self.name,
            "type": self.type,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        }


def name_of(decoded: Object) -> str:
    name: str = decoded["metadata"].get("name", "")
    return name


def created_at(decoded: Object) -> str | None:
    timestamp: str | None = decoded["metadata"].get("creationTimestamp")
    return timestamp


def age(timestamp: str | None, now: float) -> str:
    """How long ago that was, as kubectl shows it."""
    if not timestamp:
        return "<unknown>"
    return human_duration(now - datetime.fromisoformat(timestamp).timestamp())


def human_duration(seconds: float) -> str:
    """As duration.HumanDuration: two or three significant digits."""
    if seconds < -1:
        return "<invalid>"
    s = max(int(seconds), 0)
    if s < 60 * 2:
        return f"{s}s"
    m = s // 60
    if m < 10:
        return f"{m}m{s % 60}s" if s % 60 else f"{m}m"
    if m < 60 * 3:
        return f"{m}m"
    h = m // 60
    if h < 8:
        return f"{h}h{m % 60}m" if m % 60 else f"{h}h"
    if h < 48:
        return f"{h}h"
    if h < 24 * 8:
        return f"{h // 24}d{h % 24}h" if h % 24 else f"{h // 24}d"
    if h < 24 * 365 * 2:
        return f"{h // 24}d"
    years, days = h // 24 // 365, h // 24 % 365
    if h < 24 * 365 * 8:
        return f"{years}y{days}d" if days else f"{years}y"
    return f"{years}y"


def field_value(*path: str, absent: Cell = "") -> Callable[[Object], Any]:
    """The value of a field, or `absent`."""

    def value_of(decoded: Object) -> Any:
        value: Any = decoded
        for part in path:
            value = value.get(part) if isinstance(value, dict) else None
        return absent if value is None else value

    return value_of


NAME = Column("Name", name_of, format="name", description="The name of the object.")
AGE = Column("Age", created_at, show=age, description="How long ago the object was created.")
CREATED_AT = Column("Created At", created_at, type="date", description="When the object was created.")
