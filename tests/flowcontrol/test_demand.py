"""Observing how many seats could have been used."""

from __future__ import annotations

import math

import pytest

from kapi.flowcontrol.demand import Demand, DemandStats, Observed


def test_average_deviation_and_the_highest_are_weighted_by_time():
    demand = Demand(0.0)
    demand.high = 4
    demand.add(4, 1.0)
    demand.add(1, 2.0)
    assert demand.read(1, 4.0) == Observed(4.0, 1.5, pytest.approx(math.sqrt(2.25)), 4)


def test_reading_begins_anew():
    demand = Demand(0.0)
    demand.add(4, 1.0)
    demand.read(2, 1.0)
    demand.add(2, 2.0)
    assert demand.read(2, 3.0) == Observed(2.0, 2.0, 0.0, 2)


def test_demand_is_followed_up_at_once_and_down_slowly():
    stats = DemandStats()
    stats.update(Observed(10, 8.0, 2.0, 20))
    assert (stats.smoothed, stats.high) == (10.0, 20)
    stats.update(Observed(10, 0.0, 0.0, 0))
    assert stats.smoothed == pytest.approx(9.77)
