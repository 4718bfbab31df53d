"""The standard functions and operators of CEL."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterator
from typing import Any

from kapi.cel import conversions, macros, prices, timestamps
from kapi.cel.functions import Library, Overload, method, overload
from kapi.cel.library.regex import matches
from kapi.cel.operators import (
    add,
    add_ints,
    add_lists,
    contains,
    divide,
    divide_doubles,
    divide_ints,
    equal,
    greater,
    greater_equals,
    index,
    less,
    less_equals,
    logical_not,
    modulo,
    multiply,
    negate,
    not_equal,
    size,
    subtract,
)
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
    param,
    type_of,
)
from kapi.cel.values import Duration, runtime_type

A, B = param("A"), param("B")
_LIST, _MAP = list_of(A), map_of(A, B)
_WORD = {BOOL: "bool", INT: "int64", UINT: "uint64", DOUBLE: "double", STRING: "string", BYTES: "bytes",
         TIMESTAMP: "timestamp", DURATION: "duration"}  # fmt: skip
_ORDERED = (BOOL, INT, UINT, DOUBLE, STRING, BYTES, TIMESTAMP, DURATION)
_NUMBERS = (INT, UINT, DOUBLE)
_EXACT = frozenset({INT, UINT, BOOL, STRING, BYTES})


def _identity(value: Any) -> Any:
    return value


def _ordering(name: str, generic: Callable[..., Any], native: Callable[..., Any]) -> Iterator[Overload]:
    """Same types, and numbers of different types. Types without NaN compare natively."""
    for left in _ORDERED:
        for right in _NUMBERS if left in _NUMBERS else (left,):
            suffix = _WORD[left] if left is right else f"{_WORD[left]}_{_WORD[right]}"
            run = native if left in _EXACT and right in _EXACT else generic
            price = prices.smaller if left in (STRING, BYTES) else None
            yield overload(f"{name}_{suffix}", (left, right), BOOL, run, price)


def _arithmetic() -> dict[str, tuple[Overload, ...]]:
    def same(name: str, run: Callable[..., Any], *kinds: CelType) -> list[Overload]:
        return [overload(f"{name}_{_WORD[kind]}", (kind, kind), kind, run) for kind in kinds]

    return {
        "_+_": (
            overload("add_bytes", (BYTES, BYTES), BYTES, operator.add, prices.both),
            overload("add_double", (DOUBLE, DOUBLE), DOUBLE, operator.add),
            overload("add_duration_duration", (DURATION, DURATION), DURATION, add),
            overload("add_duration_timestamp", (DURATION, TIMESTAMP), TIMESTAMP, add),
            overload("add_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, add),
            overload("add_int64", (INT, INT), INT, add_ints),
            overload("add_list", (_LIST, _LIST), _LIST, add_lists),
            overload("add_string", (STRING, STRING), STRING, operator.add, prices.both),
            overload("add_uint64", (UINT, UINT), UINT, add),
        ),
        "_-_": (
            *same("subtract", subtract, INT, UINT),
            overload("subtract_double", (DOUBLE, DOUBLE), DOUBLE, operator.sub),
            overload("subtract_duration_duration", (DURATION, DURATION), DURATION, subtract),
            overload("subtract_timestamp_duration", (TIMESTAMP, DURATION), TIMESTAMP, subtract),
            overload("subtract_timestamp_timestamp", (TIMESTAMP, TIMESTAMP), DURATION, subtract),
        ),
        "_*_": (
            *same("multiply", multiply, INT, UINT),
            overload("multiply_double", (DOUBLE, DOUBLE), DOUBLE, operator.mul),
        ),
        "_/_": (
            overload("divide_int64", (INT, INT), INT, divide_ints),
            overload("divide_uint64", (UINT, UINT), UINT, divide),
            overload("divide_double", (DOUBLE, DOUBLE), DOUBLE, divide_doubles),
        ),
        "_%_": tuple(same("modulo", modulo, INT, UINT)),
        "-_": (overload("negate_int64", (INT,), INT, negate), overload("negate_double", (DOUBLE,), DOUBLE, negate)),
    }


def _logic() -> dict[str, tuple[Overload, ...]]:
    return {
        "_?_:_": (overload("conditional", (BOOL, A, A), A),),
        "_&&_": (overload("logical_and", (BOOL, BOOL), BOOL),),
        "_||_": (overload("logical_or", (BOOL, BOOL), BOOL),),
        "!_": (overload("logical_not", (BOOL,), BOOL, logical_not),),
        "@not_strictly_false": (overload("not_strictly_false", (BOOL,), BOOL, lambda value: value is not False),),
        "_==_": (overload("equals", (A, A), BOOL, equal, prices.smaller),),
        "_!=_": (overload("not_equals", (A, A), BOOL, not_equal, prices.smaller),),
        "_<_": tuple(_ordering("less", less, operator.lt)),
        "_<=_": tuple(_ordering("less_equals", less_equals, operator.le)),
        "_>_": tuple(_ordering("greater", greater, operator.gt)),
        "_>=_": tuple(_ordering("greater_equals", greater_equals, operator.ge)),
        "@in": (
            overload("in_list", (A, _LIST), BOOL, contains, prices.items),
            overload("in_map", (A, _MAP), BOOL, contains),
        ),
        "_[_]": (overload("index_list", (_LIST, INT), A, index), overload("index_map", (_MAP, A), B, index)),
    }


def _conversions() -> dict[str, tuple[Overload, ...]]:
    def from_each(word: str, result: CelType, run: Callable[..., Any], *kinds: CelType) -> tuple[Overload, ...]:
        made = [overload(f"{_WORD.get(kind, kind.kind)}_to_{word}", (kind,), result, run) for kind in kinds]
        return (overload(f"{word}_to_{word}", (result,), result, _identity), *made)

    return {
        "type": (overload("type", (A,), type_of(A), runtime_type),),
        "dyn": (overload("to_dyn", (A,), DYN, _identity),),
        "bool": from_each("bool", BOOL, conversions.to_bool, STRING),
        "bytes": (
            overload("bytes_to_bytes", (BYTES,), BYTES, _identity),
            overload("string_to_bytes", (STRING,), BYTES, conversions.to_bytes, prices.traversal),
        ),
        "double": from_each("double", DOUBLE, conversions.to_double, INT, STRING, UINT),
        "duration": from_each("duration", DURATION, conversions.to_duration, STRING),
        "int": from_each("int64", INT, conversions.to_int, DOUBLE, DURATION, STRING, TIMESTAMP, UINT),
        "uint": from_each("uint64", UINT, conversions.to_uint, DOUBLE, INT, STRING),
        "timestamp": from_each("timestamp", TIMESTAMP, conversions.to_timestamp, INT, STRING),
        "string": (
            *from_each("string", STRING, conversions.to_string, BOOL, DOUBLE, DURATION, INT, TIMESTAMP, UINT),
            overload("bytes_to_string", (BYTES,), STRING, conversions.to_string, prices.traversal),
        ),
    }


def _sizes() -> tuple[Overload, ...]:
    kinds = (("bytes", BYTES), ("list", _LIST), ("map", _MAP), ("string", STRING))
    return tuple(
        made
        for word, kind in kinds
        for made in (overload(f"size_{word}", (kind,), INT, size), method(f"{word}_size", (kind,), INT, size))
    )


def _strings() -> dict[str, tuple[Overload, ...]]:
    pair = (STRING, STRING)
    return {
        "contains": (method("contains_string", pair, BOOL, operator.contains, prices.product),),
        "endsWith": (method("ends_with_string", pair, BOOL, str.endswith, prices.traversal),),
        "startsWith": (method("starts_with_string", pair, BOOL, str.startswith, prices.traversal),),
        "matches": (
            overload("matches", pair, BOOL, matches, prices.regex),
            method("matches_string", pair, BOOL, matches, prices.regex),
        ),
    }


def _times() -> dict[str, tuple[Overload, ...]]:
    parts = {
        "getFullYear": timestamps.year,
        "getMonth": timestamps.month,
        "getDayOfYear": timestamps.day_of_year,
        "getDayOfMonth": timestamps.day_of_month,
        "getDate": timestamps.date,
        "getDayOfWeek": timestamps.day_of_week,
        "getHours": timestamps.hours,
        "getMinutes": timestamps.minutes,
        "getSeconds": timestamps.seconds,
        "getMilliseconds": timestamps.milliseconds,
    }
    units = {"getHours": 3600 * 10**9, "getMinutes": 60 * 10**9, "getSeconds": 10**9, "getMilliseconds": 10**6}

    def whole(unit: int) -> Callable[[Duration], int]:
        return lambda value: timestamps.whole(value, unit)

    made: dict[str, tuple[Overload, ...]] = {}
    for name, run in parts.items():
        overloads = [
            method(f"timestamp_{name}", (TIMESTAMP,), INT, run),
            method(f"timestamp_{name}_with_tz", (TIMESTAMP, STRING), INT, run),
        ]
        if name in units:
            overloads.append(method(f"duration_{name}", (DURATION,), INT, whole(units[name])))
        made[name] = tuple(overloads)
    return made


def library() -> Library:
    functions = {**_arithmetic(), **_logic(), **_conversions(), "size": _sizes(), **_strings(), **_times()}
    named = (BOOL, BYTES, DOUBLE, INT, NULL, STRING, UINT, DURATION, TIMESTAMP)
    types = {t.name: t for t in named} | {"list": list_of(DYN), "map": map_of(DYN, DYN), "type": TYPE}
    return Library(functions=functions, macros=macros.STANDARD, types=types)
