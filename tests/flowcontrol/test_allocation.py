"""Dividing seats: the bounds hold, the sum is right, and what is between the bounds is in proportion to demand."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from kapi.flowcontrol.allocation import Claim, Impossible, allocate

numbers = st.integers(0, 300)


@st.composite
def claims(draw):
    lower = draw(numbers)
    return Claim(target=lower + draw(st.floats(0, 300)), lower=lower, upper=lower + draw(numbers))


@given(st.lists(claims(), min_size=1, max_size=10), st.floats(0, 1))
def test_the_division_is_fair_within_its_bounds(claims, where):
    low, high = sum(c.lower for c in claims), sum(c.upper for c in claims)
    total = round(low + where * (high - low))
    assume(low <= total <= high)
    shares, proportion = allocate(total, claims)
    assert sum(shares) == pytest.approx(total, abs=1e-4)
    for share, claim in zip(shares, claims, strict=True):
        assert claim.lower <= share <= claim.upper
        fair = proportion * max(claim.target, 0.001)
        assert share == pytest.approx(min(max(fair, claim.lower), claim.upper), abs=1e-4)


def test_what_nobody_needs_is_shared_by_demand():
    shares, proportion = allocate(100, [Claim(10, 5, 100), Claim(30, 5, 100), Claim(0, 0, 100)])
    assert [round(share) for share in shares] == [25, 75, 0]
    assert proportion == pytest.approx(2.5, rel=0.01)


@pytest.mark.parametrize(("total", "complaint"), [(3, "lower bounds sum to 10"), (50, "upper bounds sum to 40")])
def test_bounds_that_cannot_be_met_are_told(total, complaint):
    with pytest.raises(Impossible, match=complaint):
        allocate(total, [Claim(5, 5, 20), Claim(5, 5, 20)])
