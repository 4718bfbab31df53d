"""Costs: estimated from bounds, measured at run time, and limited."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapi.cel.declarations import named
from kapi.cel.environment import Budget, Environment, Program
from kapi.cel.kubernetes import base_environment
from kapi.cel.limits import exceeded
from kapi.cel.schemas import declaration
from kapi.cel.values import CostLimitExceeded

TEXT = {"type": "string", "maxLength": 10}
SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "n": {"type": "integer"},
        "s": TEXT,
        "unbounded": {"type": "string"},
        "l": {"type": "array", "maxItems": 5, "items": TEXT},
        "o": {"type": "array", "maxItems": 5, "items": {"type": "object", "properties": {"s": TEXT}}},
        "m": {"type": "object", "maxProperties": 3, "additionalProperties": TEXT},
    },
}


def environment() -> Environment:
    declared = declaration(SCHEMA)
    assert declared is not None
    return base_environment().extend({"self": named(declared, "selfType")})


def compiled(expression: str) -> Program:
    return environment().compile(expression)


@pytest.mark.parametrize(
    ("expression", "low", "high"),
    [
        ("true", 0, 0),
        ("self.n == 1", 2, 2),
        ("self.n + 1 > 0", 4, 4),
        ("has(self.n)", 1, 1),
        ("self.s == 'abc'", 3, 3),
        ("self.s.startsWith('abcdefghijkl')", 4, 4),
        ("self.s.contains('abcdefghijkl')", 2, 10),
        ("self.s.matches('abcd')", 3, 7),
        ("self.unbounded.contains('x')", 2, 314_575),
        ("self.l.size() > 1", 4, 4),
        ("self.l.all(x, x.startsWith('a'))", 3, 28),
        ("self.o.exists(x, x.s == 'a')", 3, 38),
        ("self.m.all(k, self.m[k] == 'a')", 3, 27),
        ("self.l.map(x, x + 'a').size() > 0", 15, 105),
        ("self.n > 0 && self.n < 5", 3, 6),
        ("self.n > 0 ? self.l.size() > 1 : true", 3, 7),
        ("sets.contains(self.l, ['a', 'b'])", 13, 23),
        ("self.l.sort().size() > 0", 15, 68),
        ("self.s.replace('a', 'bb').size() > 0", 4, 12),
    ],
)
def test_the_estimate_follows_from_the_bounds_of_the_schema(expression: str, low: int, high: int) -> None:
    assert tuple(compiled(expression).estimate()) == (low, high)


@settings(deadline=None)
@given(
    st.fixed_dictionaries(
        {
            "n": st.integers(-5, 5),
            "s": st.text(max_size=10),
            "l": st.lists(st.text(max_size=10), max_size=5),
            "o": st.lists(st.fixed_dictionaries({"s": st.text(max_size=10)}), max_size=5),
            "m": st.dictionaries(st.text(max_size=10), st.text(max_size=10), max_size=3),
        }
    )
)
def test_no_evaluation_costs_more_than_its_estimate(value: dict[str, Any]) -> None:
    for expression in (
        "self.n > 0 && self.n < 5",
        "self.l.all(x, x.startsWith('a'))",
        "self.o.exists(x, x.s == 'a')",
        "self.m.all(k, self.m[k] == 'a')",
        "self.l.map(x, x + self.s).exists(x, x.contains('b'))",
        "self.l.filter(x, x.upperAscii() != '').size() > self.n",
    ):
        program = compiled(expression)
        assert program.measure({"self": value})[1] <= program.estimate().high


def test_a_loop_that_costs_too_much_is_stopped_on_the_way() -> None:
    program = base_environment().compile(
        "lists.range(1000).all(a, lists.range(1000).all(b, lists.range(1000).all(c, a + b + c >= 0)))"
    )
    with pytest.raises(CostLimitExceeded, match="operation cancelled: actual cost limit exceeded"):
        program.evaluate({})


def test_evaluations_share_a_budget() -> None:
    program = compiled("self.l.all(x, x.startsWith('a'))")
    budget = Budget(50)
    assert program.evaluate({"self": {"l": ["a", "ab"]}}, budget) is True
    assert budget.remaining < 50
    with pytest.raises(CostLimitExceeded):
        program.evaluate({"self": {"l": ["a"] * 5 + ["a"] * 50}}, budget)
    assert budget.remaining < 0


@pytest.mark.parametrize(
    "expression",
    [
        "self.s.replace('', self.s)",
        "lists.range(9000000000)",
    ],
)
def test_nothing_fills_the_memory(expression: str) -> None:
    with pytest.raises(CostLimitExceeded):
        compiled(f"{expression}.size() > 0").evaluate({"self": {"s": "x" * 3_000_000}})


def test_a_double_has_no_more_places_than_upstream_counts() -> None:
    program = compiled("self.s.substring(0, 1).replace('x', '%.999999999f').format([1.5]).size()")
    assert program.evaluate({"self": {"s": "x"}}) == len("1.") + 999999999 % 256


@pytest.mark.parametrize(
    ("cost", "factor"), [(10**10, "more than 100x"), (25_000_000, "2.5x"), (10_500_000, "1.050000x")]
)
def test_an_estimate_says_by_how_much_it_is_too_high(cost: int, factor: str) -> None:
    assert exceeded("estimated rule cost", cost, 10_000_000).startswith(
        f"estimated rule cost exceeds budget by factor of {factor} (try simplifying"
    )
