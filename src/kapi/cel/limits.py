"""Kubernetes' limits on the cost of expressions, and what it says when one is exceeded."""

from __future__ import annotations

PER_CALL_LIMIT = 1_000_000
RUNTIME_BUDGET = 10_000_000
MATCH_CONDITIONS_BUDGET = 2_500_000
EXPRESSION_COST_LIMIT = 10_000_000
SCHEMA_COST_LIMIT = 100_000_000
MAX_REQUEST_SIZE = 3 * 1024 * 1024
MAX_MESSAGE_SIZE = 5 * 1024
UINT64_MAX = 2**64 - 1

_HINT = (
    "try simplifying the rule, or adding maxItems, maxProperties, and maxLength "
    "where arrays, maps, and strings are declared"
)


def multiplied(cost: int, cardinality: int) -> int:
    """The cost of a rule that runs so many times, within 64 bits."""
    return min(cost * cardinality, UINT64_MAX)


def exceeded(name: str, cost: int, limit: int) -> str:
    """By how much an estimate exceeds its limit, and what to do about it."""
    factor = cost / limit
    if factor > 100.0:
        shown = "more than 100x"
    elif factor < 1.5:
        shown = f"{factor:f}x"
    else:
        shown = f"{factor:.1f}x"
    return f"{name} exceeds budget by factor of {shown} ({_HINT})"
