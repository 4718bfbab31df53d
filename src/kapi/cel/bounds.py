"""Ranges of sizes and costs: arithmetic that stops at the largest 64-bit number."""

from __future__ import annotations

import math
from typing import NamedTuple

MAX = 2**64 - 1


class Range(NamedTuple):
    """A least and a most: of a size, or of a cost."""

    low: int
    high: int

    def plus(self, other: Range) -> Range:
        return Range(min(self.low + other.low, MAX), min(self.high + other.high, MAX))

    def times(self, other: Range) -> Range:
        return Range(min(self.low * other.low, MAX), min(self.high * other.high, MAX))

    def scaled(self, factor: float) -> Range:
        return Range(_scaled(self.low, factor), _scaled(self.high, factor))

    def union(self, other: Range) -> Range:
        return Range(min(self.low, other.low), max(self.high, other.high))


def _scaled(value: int, factor: float) -> int:
    product = float(value) * factor
    return MAX if product >= 2.0**64 else min(math.ceil(product), MAX)


def fixed(value: int) -> Range:
    return Range(value, value)


ZERO = fixed(0)
ONE = fixed(1)
UNKNOWN = Range(0, MAX)
CostEstimate = Range
