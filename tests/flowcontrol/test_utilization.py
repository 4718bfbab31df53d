"""How busy a level was, weighted by time."""

from __future__ import annotations

import asyncio

from kapi.flowcontrol.queue_set import Queuing
from tests.flowcontrol.conftest import Hall

SECOND = 1_000_000_000


def samples(registry, name):
    """The values of one metric, by what stands in braces."""
    lines = [line for line in registry.text().decode().splitlines() if line.startswith(f"apiserver_flowcontrol_{name}")]
    return {line.partition("{")[2].partition("}")[0]: float(line.rpartition(" ")[2]) for line in lines}


def test_every_nanosecond_is_an_observation_of_how_busy_the_level_was():
    async def main():
        hall = Hall(Queuing(queues=1, length=4, hand=1), 1)
        first, second = hall.start(), hall.start()
        hall.clock.time += 2  # one executes, one waits
        first.finish()
        hall.clock.time += 1  # the other executes
        second.finish()
        hall.clock.time += 3  # nobody is there
        hall.metrics.utilization.tell(hall.queues, 1, 4)
        return hall.registry

    registry = asyncio.run(main())
    busy = samples(registry, "priority_level_seat_utilization")
    assert busy['phase="executing",priority_level="hall",le="0"'] == 3 * SECOND
    assert busy['phase="executing",priority_level="hall",le="+Inf"'] == 6 * SECOND
    waiting = samples(registry, "priority_level_request_utilization")
    assert waiting['phase="waiting",priority_level="hall",le="0.1"'] == 4 * SECOND
    assert waiting['phase="waiting",priority_level="hall",le="0.25"'] == 6 * SECOND
    demand = samples(registry, "demand_seats_bucket")
    assert demand['priority_level="hall",le="1"'] == 4 * SECOND
    assert demand['priority_level="hall",le="2"'] == 6 * SECOND


def test_virtual_time_is_told_once_something_left_a_queue():
    async def main():
        hall = Hall(Queuing(queues=1, length=4, hand=1), 1)
        hall.metrics.utilization.tell(hall.queues, 1, 4)
        before = samples(hall.registry, "dispatch_r")
        hall.start()
        hall.clock.time += 2
        hall.start()
        hall.metrics.utilization.tell(hall.queues, 1, 4)
        return before, hall.registry

    before, registry = asyncio.run(main())
    assert before == {}
    assert samples(registry, "current_r") == {'priority_level="hall"': 2.0}
    assert samples(registry, "dispatch_r") == samples(registry, "latest_s") == {'priority_level="hall"': 0.0}
    bounds = samples(registry, "next_s_bounds")
    assert bounds['priority_level="hall",bound="min"'] == bounds['priority_level="hall",bound="max"'] > 0
