"""Run-time values that JSON has no word for, and the errors of evaluation.

A CEL value is a plain Python one: bool, int, float, str, bytes, None, list and dict stand for themselves.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from kapi.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    NULL,
    STRING,
    TIMESTAMP,
    TYPE,
    UINT,
    CelType,
    list_of,
    map_of,
    optional_of,
    struct,
)

INT_MIN = -(2**63)
INT_MAX = 2**63 - 1
UINT_MAX = 2**64 - 1


class EvaluationError(Exception):
    """What an expression failed with at run time, in cel-go's words."""


class CostLimitExceeded(EvaluationError):
    """The evaluation was stopped: it cost more than it may."""

    def __init__(self) -> None:
        super().__init__("operation cancelled: actual cost limit exceeded")


class NoSuchOverload(EvaluationError):
    def __init__(self, function: str = "") -> None:
        super().__init__(f"no such overload: {function}" if function else "no such overload")


class NoSuchKey(EvaluationError):
    def __init__(self, key: object) -> None:
        super().__init__(f"no such key: {format_key(key)}")


class Uint(int):
    """An unsigned integer: only its type differs from an int."""

    __slots__ = ()


class SetList(list[Any]):
    """A list whose order does not count (x-kubernetes-list-type: set)."""


class MapList(list[Any]):
    """A list of objects told apart by some of their fields (x-kubernetes-list-type: map)."""

    __slots__ = ("keys",)

    def __init__(self, items: list[Any], keys: tuple[str, ...]) -> None:
        super().__init__(items)
        self.keys = keys

    def identity(self, item: Any) -> tuple[object, ...]:
        return tuple(item.get(key) for key in self.keys) if isinstance(item, dict) else (id(item),)


class ObjectValue(dict[str, Any]):
    """A struct made by an expression, as `Object.metadata{...}`; it knows the name it was made under."""

    __slots__ = ("type_name",)

    def __init__(self, fields: dict[str, Any], type_name: str) -> None:
        super().__init__(fields)
        self.type_name = type_name


@dataclass(frozen=True, slots=True, order=True)
class Duration:
    nanoseconds: int


@dataclass(frozen=True, slots=True, order=True)
class Timestamp:
    """Nanoseconds since 1970, and the offset it was written with: only its text depends on that."""

    nanoseconds: int
    offset: int = 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Timestamp) and self.nanoseconds == other.nanoseconds

    def __hash__(self) -> int:
        return hash(self.nanoseconds)


class Optional:
    """A value that may be missing; NONE is the one that is."""

    __slots__ = ("present", "value")

    def __init__(self, value: Any = None, *, present: bool = True) -> None:
        self.value = value
        self.present = present


NONE = Optional(present=False)


class Extension(Protocol):
    """A value of a library's own type."""

    @property
    def cel_type(self) -> CelType: ...


_TYPES: dict[type, CelType] = {
    bool: BOOL,
    int: INT,
    Uint: UINT,
    float: DOUBLE,
    str: STRING,
    bytes: BYTES,
    type(None): NULL,
    Timestamp: TIMESTAMP,
    Duration: DURATION,
    list: list_of(DYN),
    SetList: list_of(DYN),
    MapList: list_of(DYN),
    dict: map_of(DYN, DYN),
    Optional: optional_of(DYN),
    CelType: TYPE,
}


def runtime_type(value: Any) -> CelType:
    """The type of a value as `type(value)` gives it."""
    found = _TYPES.get(type(value))
    if found is not None:
        return found
    if isinstance(value, ObjectValue):
        return struct(value.type_name)
    declared = getattr(value, "cel_type", None)
    return declared if isinstance(declared, CelType) else DYN


def format_key(key: object) -> str:
    """A key as an error names it."""
    if isinstance(key, bool):
        return "true" if key else "false"
    return str(key)
