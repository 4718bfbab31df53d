"""Functions and their overloads, as libraries declare them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from kapi.cel.parser import Macros
from kapi.cel.types import CelType

Implementation = Callable[..., Any]
Price = Callable[..., int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Overload:
    """One signature. For a member the receiver is the first argument.

    `price` gives the cost of a call from its arguments and its result (last), where it is not 1.
    """

    id: str
    args: tuple[CelType, ...]
    result: CelType
    member: bool = False
    run: Implementation | None = None
    price: Price | None = None
    params: frozenset[CelType] = field(default=frozenset())


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """A set of functions, macros and type names that an environment may offer."""

    functions: Mapping[str, tuple[Overload, ...]] = field(default_factory=dict)
    macros: Macros = field(default_factory=dict)
    types: Mapping[str, CelType] = field(default_factory=dict)


def overload(
    id: str, args: Iterable[CelType], result: CelType, run: Implementation | None = None, price: Price | None = None
) -> Overload:
    return _overload(id, tuple(args), result, run, price, member=False)


def method(
    id: str, args: Iterable[CelType], result: CelType, run: Implementation | None = None, price: Price | None = None
) -> Overload:
    return _overload(id, tuple(args), result, run, price, member=True)


def _overload(
    id: str,
    args: tuple[CelType, ...],
    result: CelType,
    run: Implementation | None,
    price: Price | None,
    *,
    member: bool,
) -> Overload:
    params = frozenset(found for t in (*args, result) for found in _params(t))
    return Overload(id=id, args=args, result=result, member=member, run=run, price=price, params=params)


def _params(t: CelType) -> Iterable[CelType]:
    if t.kind == "param":
        yield t
    for inner in t.params:
        yield from _params(inner)
