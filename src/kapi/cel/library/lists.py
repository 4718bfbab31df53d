"""Functions on lists: Kubernetes' own and those of cel-go."""

from __future__ import annotations

from collections.abc import Callable
from functools import cmp_to_key
from itertools import pairwise
from typing import Any

from kapi.cel import macros, prices
from kapi.cel.functions import Library, Overload, method, overload
from kapi.cel.limits import PER_CALL_LIMIT
from kapi.cel.operators import add, check_ordered, equal
from kapi.cel.types import (
    BOOL,
    BYTES,
    DOUBLE,
    DURATION,
    DYN,
    INT,
    STRING,
    TIMESTAMP,
    UINT,
    CelType,
    list_of,
    param,
)
from kapi.cel.values import CostLimitExceeded, Duration, EvaluationError, Uint, runtime_type

_COMPARABLE = {"int": INT, "uint": UINT, "double": DOUBLE, "bool": BOOL, "duration": DURATION,
               "timestamp": TIMESTAMP, "string": STRING, "bytes": BYTES}  # fmt: skip
_ZEROS: dict[str, Any] = {"int": 0, "uint": Uint(0), "double": 0.0, "duration": Duration(0)}
A, T = param("A"), param("T")


def _compare(a: Any, b: Any) -> int:
    check_ordered(a, b)
    return -1 if a < b else 1 if a > b else 0


def _compare_first(a: tuple[Any, Any], b: tuple[Any, Any]) -> int:
    return _compare(a[0], b[0])


def is_sorted(items: list[Any]) -> bool:
    return all(_compare(a, b) <= 0 for a, b in pairwise(items))


def _sum(zero: Any) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        total = zero
        for item in items:
            total = total + item if isinstance(zero, float) else add(total, item)
        return total

    return run


def _extreme(name: str, sign: int) -> Callable[[list[Any]], Any]:
    def run(items: list[Any]) -> Any:
        if not items:
            raise EvaluationError(f"{name} called on empty list")
        result = items[0]
        for item in items[1:]:
            if _compare(result, item) == sign:
                result = item
        return result

    return run


def index_of(items: list[Any], wanted: Any) -> int:
    return next((position for position, item in enumerate(items) if equal(item, wanted)), -1)


def last_index_of(items: list[Any], wanted: Any) -> int:
    backwards = index_of(items[::-1], wanted)
    return len(items) - 1 - backwards if backwards >= 0 else -1


def slice_list(items: list[Any], start: int, end: int) -> list[Any]:
    if start < 0 or end < 0:
        raise EvaluationError(f"cannot slice({start}, {end}), negative indexes not supported")
    if start > end:
        raise EvaluationError(f"cannot slice({start}, {end}), start index must be less than or equal to end index")
    if end > len(items):
        raise EvaluationError(f"cannot slice({start}, {end}), list is length {len(items)}")
    return items[start:end]


def flatten(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise EvaluationError("level must be non-negative")
    result: list[Any] = []
    for item in items:
        if isinstance(item, list) and depth:
            result.extend(flatten(item, depth - 1))
        else:
            result.append(item)
    return result


def sort_by_keys(items: list[Any], keys: list[Any]) -> list[Any]:
    if not items:
        return items
    kind = runtime_type(keys[0])
    if kind.kind not in _COMPARABLE:
        raise EvaluationError("list elements must be comparable")
    if any(runtime_type(key) != kind for key in keys):
        raise EvaluationError("list elements must have the same type")
    pairs = list(zip(keys, items, strict=True))
    return [item for _, item in sorted(pairs, key=cmp_to_key(_compare_first))]


def distinct(items: list[Any]) -> list[Any]:
    result: list[Any] = []
    for item in items:
        if not any(equal(item, other) for other in result):
            result.append(item)
    return result


def make_range(count: int) -> list[int]:
    if count > PER_CALL_LIMIT:
        raise CostLimitExceeded
    return list(range(count))


def _flatten_price(items: Any, *rest: Any) -> int:
    depth = rest[0] if len(rest) == 2 else 1
    return int(prices.size_of(items) * depth) + 1 + prices.LIST


def _sort_by_price(_: Any, keys: Any, __: Any) -> int:
    return prices.self_comparison(keys)


def _each(template: Callable[[str, CelType], Overload], names: dict[str, Any] | None = None) -> tuple[Overload, ...]:
    return tuple(template(name, _COMPARABLE[name]) for name in (names or _COMPARABLE))


def kubernetes() -> Library:
    """The library of Kubernetes."""

    def extreme(name: str, sign: int) -> tuple[Overload, ...]:
        run = _extreme(name, sign)
        return _each(lambda word, t: method(f"list_{word}_{name}_{word}", (list_of(t),), t, run, prices.tree))

    return Library(
        functions={
            "isSorted": _each(
                lambda word, t: method(f"list_{word}_is_sorted_bool", (list_of(t),), BOOL, is_sorted, prices.tree)
            ),
            "sum": _each(
                lambda word, t: method(f"list_{word}_sum_{word}", (list_of(t),), t, _sum(_ZEROS[word]), prices.tree),
                _ZEROS,
            ),
            "max": extreme("max", -1),
            "min": extreme("min", 1),
            "indexOf": (method("list_a_index_of_int", (list_of(A), A), INT, index_of, prices.tree),),
            "lastIndexOf": (method("list_a_last_index_of_int", (list_of(A), A), INT, last_index_of, prices.tree),),
        }
    )


def extended() -> Library:
    """The library of cel-go."""
    items = list_of(T)
    anything = list_of(DYN)
    return Library(
        functions={
            "slice": (method("list_slice", (items, INT, INT), items, slice_list, prices.allocated),),
            "flatten": (
                method("list_flatten", (list_of(items),), items, flatten, _flatten_price),
                method("list_flatten_int", (anything, INT), anything, flatten, _flatten_price),
            ),
            "sort": _each(
                lambda word, t: method(
                    f"list_{t.name}_sort",
                    (list_of(t),),
                    list_of(t),
                    lambda x: sort_by_keys(x, x),
                    prices.self_comparison,
                )
            ),
            "@sortByAssociatedKeys": _each(
                lambda word, t: method(
                    f"list_{t.name}_sortByAssociatedKeys", (items, list_of(t)), items, sort_by_keys, _sort_by_price
                )
            ),
            "lists.range": (overload("lists_range", (INT,), list_of(INT), make_range, prices.allocated),),
            "reverse": (method("list_reverse", (items,), items, lambda values: values[::-1], prices.allocated),),
            "distinct": (method("list_distinct", (items,), items, distinct, prices.self_comparison),),
        },
        macros=macros.LISTS,
    )
