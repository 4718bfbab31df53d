"""Allocation: seats divided in proportion to demand, each share within its bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

_LEAST_TARGET = 0.001


class Claim(NamedTuple):
    """`target` is at least `lower`, `upper` too."""

    target: float
    lower: float
    upper: float


class Allocation(NamedTuple):
    """`proportion` is that between target and share where no bound decides."""

    shares: list[float]
    proportion: float


class Impossible(ValueError):
    """The bounds leave no way to hand out just that many."""


def allocate(total: float, claims: Sequence[Claim]) -> Allocation:
    """The one division that adds up to `total`; raises Impossible.

    Shares grow with the proportion, in straight lines between the points where one meets a bound. So the answer lies
    between the last such point that gives out too little and the first that gives out enough.
    """
    targets = [max(claim.target, _LEAST_TARGET) for claim in claims]

    def at(proportion: float) -> list[float]:
        return [max(c.lower, min(c.upper, proportion * t)) for c, t in zip(claims, targets, strict=True)]

    bounds = sorted({bound / t for c, t in zip(claims, targets, strict=True) for bound in (c.lower, c.upper)})
    below, given_below = 0.0, sum(claim.lower for claim in claims)
    if round(given_below - total, 6) > 0:
        raise Impossible(f"lower bounds sum to {given_below:g}, which is higher than {total:g}")
    for proportion in bounds:
        given = sum(at(proportion))
        if given >= total:
            if given > given_below:
                proportion = below + (proportion - below) * (total - given_below) / (given - given_below)
            return Allocation(at(proportion), proportion)
        below, given_below = proportion, given
    if round(total - given_below, 6) > 0:
        raise Impossible(f"upper bounds sum to {given_below:g}, which is lower than {total:g}")
    return Allocation(at(below), below)
