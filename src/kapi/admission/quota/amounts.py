"""Amounts of resources by name, and the arithmetic that quotas need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeAlias

from kapi.api.objects import Object
from kapi.api.quantity import Quantity

Amounts: TypeAlias = Mapping[str, Quantity]
ONE = Quantity(1)
ZERO = Quantity(0)


def parsed(listed: Object | None) -> dict[str, Quantity]:
    return {name: Quantity.parse(text) for name, text in (listed or {}).items()}


def total(first: Amounts, second: Amounts) -> dict[str, Quantity]:
    result = dict(first)
    for name, amount in second.items():
        result[name] = result[name] + amount if name in result else amount
    return result


def beyond(new: Amounts, old: Amounts) -> dict[str, Quantity]:
    """What is used more than before; what is used less counts as nothing."""
    result = {}
    for name, amount in new.items():
        more = amount - old[name] if name in old else amount
        result[name] = more if more.sign > 0 else ZERO
    return result


def only(amounts: Amounts, names: Iterable[str]) -> dict[str, Quantity]:
    wanted = frozenset(names)
    return {name: amount for name, amount in amounts.items() if name in wanted}


def shown(amounts: Amounts) -> str:
    return ",".join(f"{name}={amounts[name]}" for name in sorted(amounts))
