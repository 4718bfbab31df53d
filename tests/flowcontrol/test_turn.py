"""Turns of the event loop: a flood of requests that take no time leaves the loop to others, too."""

from __future__ import annotations

import asyncio

from kapi.flowcontrol.queue_set import Queuing
from kapi.flowcontrol.ticket import EXECUTING, WAITING, Ticket
from kapi.flowcontrol.turn import SECONDS, STARTS
from tests.flowcontrol.conftest import Hall


def started(hall: Hall, name: str) -> Ticket:
    ticket = hall.start(name)
    assert ticket is not None
    return ticket


def test_what_comes_at_once_beyond_a_turn_waits_for_the_next() -> None:
    async def scenario() -> None:
        hall = Hall(Queuing(64, 1000, 4), limit=1000)
        flood = [started(hall, "flood") for _ in range(3 * STARTS)]
        assert [ticket.state for ticket in flood] == [EXECUTING] * STARTS + [WAITING] * (2 * STARTS)
        await asyncio.sleep(0)
        assert sum(ticket.state is EXECUTING for ticket in flood) == 2 * STARTS
        await asyncio.sleep(0)
        assert all(ticket.state is EXECUTING for ticket in flood)

    asyncio.run(scenario())


def test_others_come_before_the_rest_of_a_flood() -> None:
    async def scenario() -> None:
        hall = Hall(Queuing(64, 1000, 4), limit=1000)
        flood = [started(hall, "flood") for _ in range(10 * STARTS)]
        modest = started(hall, "modest")
        await asyncio.sleep(0)
        assert modest.state is EXECUTING
        assert sum(ticket.state is WAITING for ticket in flood) > 7 * STARTS

    asyncio.run(scenario())


def test_requests_that_come_now_and_then_never_wait() -> None:
    async def scenario() -> None:
        hall = Hall(Queuing(64, 1000, 4), limit=1000)
        for _ in range(3):
            assert all(started(hall, "steady").state is EXECUTING for _ in range(STARTS))
            hall.clock.time += SECONDS

    asyncio.run(scenario())
