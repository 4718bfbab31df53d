"""Lists taken as sets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi.cel.functions import Library, overload
from kapi.cel.operators import contains
from kapi.cel.prices import size_of
from kapi.cel.types import BOOL, list_of, param


def contains_all(items: list[Any], wanted: list[Any]) -> bool:
    return all(contains(item, items) for item in wanted)


def intersects(left: list[Any], right: list[Any]) -> bool:
    return any(contains(item, right) for item in left)


def equivalent(left: list[Any], right: list[Any]) -> bool:
    return contains_all(left, right) and contains_all(right, left)


def _price(factor: int) -> Callable[..., int]:
    return lambda left, right, _: size_of(left) * size_of(right) * factor + 1


def library() -> Library:
    pair = (list_of(param("T")),) * 2
    return Library(
        functions={
            "sets.contains": (overload("list_sets_contains_list", pair, BOOL, contains_all, _price(1)),),
            "sets.equivalent": (overload("list_sets_equivalent_list", pair, BOOL, equivalent, _price(2)),),
            "sets.intersects": (overload("list_sets_intersects_list", pair, BOOL, intersects, _price(1)),),
        }
    )
