"""Dividing the server's seats among priority levels, and lending them."""

from __future__ import annotations

import json
from importlib.resources import files

import pytest

from kapi.flowcontrol.control import FlowControl
from kapi.flowcontrol.flow import Flow
from kapi.flowcontrol.level import Settings, nearest
from kapi.flowcontrol.queue_set import EXEMPT, REJECT, Queuing
from kapi.flowcontrol.work import Work
from kapi.telemetry.instruments import Instruments
from tests.flowcontrol.conftest import SetClock, new_call


@pytest.fixture
def control():
    """As every server has it: the suggested configuration, and six hundred seats."""
    control = FlowControl(600, SetClock(), Instruments.create({"gitVersion": "v0"}))
    shipped = json.loads(files("kapi.kube").joinpath("data/flow_control.json").read_bytes())
    for objects in shipped.values():
        for one in objects:
            kept = control.configuration.schemas if one["kind"] == "FlowSchema" else control.configuration.levels
            kept[one["metadata"]["name"]] = one
    control.digest()
    return control


def test_every_level_has_its_share(control):
    nominal = {name: level.nominal for name, level in control.levels.items()}
    assert nominal == {
        "exempt": 0,
        "system": 74,
        "node-high": 98,
        "leader-election": 25,
        "workload-high": 98,
        "workload-low": 245,
        "global-default": 49,
        "catch-all": 13,
    }
    low = control.levels["workload-low"]
    assert (low.lower, low.upper, low.most_seats) == (24, 845, 37)
    assert control.levels["catch-all"].most_seats == 0


def demand(control, name, requests, seconds):
    """So many requests of a level for so long, then an adjustment."""
    level = control.levels[name]
    flow = Flow(level, "schema", "someone", [], control.metrics.tally(name, "schema"))
    tickets = [level.queues.start(flow, Work(), new_call()) for _ in range(requests)]
    control.clock.time += seconds
    control.adjust()
    return [ticket for ticket in tickets if ticket]


def test_what_is_not_needed_is_lent_and_comes_back(control):
    default, low = control.levels["global-default"], control.levels["workload-low"]
    demand(control, "global-default", 500, 10)
    assert default.current > 200  # it wanted hundreds, and nobody else anything
    assert low.lower <= low.current < low.nominal
    assert all(level.lower <= level.current <= level.upper for level in control.levels.values())
    demand(control, "workload-low", 300, 10)
    assert low.current >= low.nominal  # what is its own it gets when it needs it
    total = sum(level.current for level in control.levels.values())
    assert total == pytest.approx(sum(level.nominal for level in control.levels.values()), abs=len(control.levels))


def test_the_exempt_take_what_they_need_from_all(control):
    demand(control, "exempt", 900, 10)
    assert control.levels["exempt"].current == 900
    assert all(level.current == level.lower for name, level in control.levels.items() if name != "exempt")


def test_a_limit_on_borrowing_holds(control):
    level = control.levels["global-default"]
    level.settings = level.settings._replace(borrowing_percent=10)
    level.divide(600, 245)
    demand(control, "global-default", 500, 10)
    assert level.current == level.upper == 54


@pytest.mark.parametrize(("value", "whole"), [(0.5, 1), (1.5, 2), (2.5, 3), (2.49, 2), (0.0, 0)])
def test_halves_are_rounded_up(value, whole):
    assert nearest(value) == whole


@pytest.mark.parametrize(
    ("spec", "settings"),
    [
        ({"type": "Exempt"}, Settings("u", EXEMPT, 0, 0, None)),
        ({"type": "Exempt", "exempt": {"nominalConcurrencyShares": 5}}, Settings("u", EXEMPT, 5, 0, None)),
        (
            {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}, "borrowingLimitPercent": 0}},
            Settings("u", REJECT, 30, 0, 0),
        ),
        (
            {
                "type": "Limited",
                "limited": {
                    "nominalConcurrencyShares": 0,
                    "lendablePercent": 50,
                    "limitResponse": {
                        "type": "Queue",
                        "queuing": {"queues": 9, "handSize": 2, "queueLengthLimit": 3},
                    },
                },
            },
            Settings("u", Queuing(9, 3, 2), 0, 50, None),
        ),
    ],
)
def test_settings_are_read_from_the_object(spec, settings):
    assert Settings.of({"metadata": {"name": "l", "uid": "u"}, "spec": spec}) == settings
