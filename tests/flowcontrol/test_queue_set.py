"""The fair queue: seats are never exceeded, nobody starves, and every request ends one way, once."""

from __future__ import annotations

import asyncio
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kapi.flowcontrol.queue_set import EXEMPT, REJECT, Queuing
from kapi.flowcontrol.ticket import EXECUTING, WAITING
from kapi.flowcontrol.work import Work
from tests.flowcontrol.conftest import Hall

QUEUES = Queuing(queues=8, length=3, hand=2)
LONG = 3600.0

arrivals = st.tuples(st.just("arrive"), st.integers(0, 4), st.integers(1, 4))
changes = st.tuples(st.just("configure"), st.sampled_from((1, 2, 4, 8)), st.integers(1, 6))
others = st.tuples(st.sampled_from(("finish", "leave", "both", "pass")), st.integers(0, 30), st.just(0))
histories = st.lists(st.one_of(arrivals, arrivals, others, others, changes), max_size=80)


class Visit:
    """One request, and how it ended: every ending is counted."""

    def __init__(self, hall, name, seats):
        self.endings = Counter()
        self.ticket = hall.start(name, Work(seats))
        self.waiter = None
        if self.ticket is None:
            self.endings["refused"] += 1
        elif self.ticket.state is WAITING:
            self.waiter = asyncio.create_task(self._wait())
        else:
            self.endings["executed"] += 1

    async def _wait(self):
        try:
            admitted = await self.ticket.admitted(LONG)
        except asyncio.CancelledError:
            self.endings["left"] += 1
            raise
        self.endings["executed" if admitted else "refused"] += 1

    @property
    def state(self):
        return None if self.ticket is None else self.ticket.state


class Story:
    """Plays a history, and checks after every step what must always hold."""

    def __init__(self):
        self.hall = Hall(QUEUES, 3)
        self.visits = []

    def those(self, state):
        return [visit for visit in self.visits if visit.state is state]

    async def play(self, step):
        kind, first, second = step
        queues = self.hall.queues
        before = set(self.those(EXECUTING))
        if kind == "arrive":
            self.visits.append(Visit(self.hall, f"flow{first}", second))
        elif kind == "configure":
            queues.configure(Queuing(first, 3, min(first, 2)), second)
        elif kind == "pass":
            self.hall.clock.time += first / 100
        else:
            # In one turn of the loop: whoever is given the seat may be the one that leaves.
            if kind in ("leave", "both") and (waiting := self.those(WAITING)):
                waiting[first % len(waiting)].waiter.cancel()
            if kind in ("finish", "both") and (executing := self.those(EXECUTING)):
                executing[first % len(executing)].ticket.finish()
        for _ in range(3):
            await asyncio.sleep(0)
        self.check(started=bool(set(self.those(EXECUTING)) - before))

    def check(self, *, started):
        queues, executing, waiting = self.hall.queues, self.those(EXECUTING), self.those(WAITING)
        assert queues.executing == len(executing)
        assert queues.waiting == len(waiting) == sum(len(queue.waiting) for queue in queues.queues)
        assert queues.seats_in_use == sum(visit.ticket.work.seats for visit in executing)
        assert queues.seats_waiting == sum(visit.ticket.work.seats for visit in waiting)
        tally = self.hall.metrics.tally("hall", "schema")
        assert (tally.executing, tally.waiting) == (queues.executing, queues.waiting)
        if started:
            assert queues.seats_in_use <= queues.limit or queues.executing == 1
        if waiting:
            assert queues.executing, "nobody waits in an empty hall"
        for visit in self.visits:
            assert visit.endings.total() == (0 if visit.state is WAITING else 1)

    async def drain(self):
        """Whoever waits gets a seat, if only those who have one get up."""
        for _ in range(len(self.visits)):
            for visit in self.those(EXECUTING)[:1]:
                await self.play(("finish", 0, 0))
                assert visit.state is not EXECUTING
        assert self.hall.queues.idle
        assert not self.hall.queues.seats_in_use
        ends = sum((visit.endings for visit in self.visits), Counter())
        assert self.hall.queues.rejected == ends["refused"] + ends["left"] - self.left_seated()
        assert self.hall.queues.dispatched == ends["executed"] + self.left_seated()

    def left_seated(self):
        """Those who were given a seat as they left: it counts as used."""
        return sum(visit.endings["left"] for visit in self.visits if visit.ticket and visit.ticket.started)


@settings(max_examples=200, deadline=None)
@given(histories)
def test_whatever_happens_seats_suffice_and_every_request_ends_once(history):
    async def main():
        story = Story()
        for step in history:
            await story.play(step)
        await story.drain()

    asyncio.run(main())


def test_a_free_seat_is_taken_at_once(hall):
    queues = hall(QUEUES, 2)
    assert [queues.start().state for _ in range(3)] == [EXECUTING, EXECUTING, WAITING]


def test_a_full_queue_refuses(hall):
    room = hall(Queuing(1, 2, 1), 1)
    kept = [room.start() for _ in range(3)]
    assert [ticket.state for ticket in kept] == [EXECUTING, WAITING, WAITING]
    assert room.start() is None
    assert room.metrics.rejected.values == {("hall", "schema", "queue-full"): 1}


def test_without_queues_the_limit_refuses(hall):
    room = hall(REJECT, 1)
    first = room.start()
    assert room.start() is None
    assert room.metrics.rejected.values == {("hall", "schema", "concurrency-limit"): 1}
    first.finish()
    assert room.start() is not None


def test_what_is_exempt_always_executes(hall):
    room = hall(EXEMPT, 0)
    assert all(room.start(work=Work(10)).state is EXECUTING for _ in range(50))


def test_one_that_never_fits_has_the_level_for_itself(hall):
    room = hall(QUEUES, 2)
    small = room.start()
    wide = room.start(work=Work(5))
    assert wide.state is WAITING
    small.finish()
    assert wide.state is EXECUTING
    assert room.start().state is WAITING


def disjoint(room):
    """Two flows that share no queue."""
    names = [f"flow{number}" for number in range(50)]
    first = room.flow(names[0])
    return names[0], next(name for name in names if not set(room.flow(name).hand) & set(first.hand))


def test_a_flood_by_one_flow_leaves_another_its_turn(hall):
    room = hall(Queuing(64, 50, 4), 4)
    flood, modest = disjoint(room)
    executing = [ticket for _ in range(150) if (ticket := room.start(flood)) and ticket.state is EXECUTING]
    mine = room.start(modest)
    assert mine.state is WAITING
    room.clock.time += 0.01
    # The flood's queues are four, this flow's is one: it is served among the first five.
    finished = 0
    while mine.state is WAITING:
        executing.pop(0).finish()
        finished += 1
        executing += [
            t for queue in room.queues.queues for t in queue.executing if t not in executing and t is not mine
        ]
    assert finished <= 5


def test_a_flow_pays_for_what_its_requests_took(hall):
    """Both flows always want more; the one whose requests take four times as long gets as much time, not as many."""
    room = hall(Queuing(64, 50, 1), 1)
    slow, quick = disjoint(room)
    seconds = {slow: 0.04, quick: 0.01}
    used = Counter()
    waiting = {name: [room.start(name) for _ in range(3)] for name in (slow, quick)}
    for _ in range(1000):
        (name, ticket) = next((n, t) for n, tickets in waiting.items() for t in tickets if t.state is EXECUTING)
        room.clock.time += seconds[name]
        used[name] += seconds[name]
        ticket.finish()
        waiting[name].remove(ticket)
        waiting[name].append(room.start(name))
    assert used[slow] / used[quick] == pytest.approx(1.0, rel=0.1)


def test_seats_may_be_held_for_a_while_after_the_answer(hall):
    async def main():
        room = hall(QUEUES, 4)
        ticket = room.start(work=Work(1, final=4, latency=0.001))
        assert room.queues.seats_in_use == 4
        ticket.finish()
        assert (room.queues.executing, room.queues.seats_in_use) == (0, 4)
        assert await room.start().admitted(LONG)
        assert room.queues.seats_in_use == 1

    asyncio.run(main())


def test_waiting_ends_with_the_time_that_was_given(hall):
    async def main():
        room = hall(QUEUES, 1)
        room.start()
        assert not await room.start().admitted(0.001)
        assert room.metrics.rejected.values == {("hall", "schema", "time-out"): 1}
        assert room.queues.cancelled == 1

    asyncio.run(main())


def test_more_seats_are_used_at_once(hall):
    async def main():
        room = hall(QUEUES, 1)
        room.start()
        waiting = room.start()
        room.queues.configure(QUEUES, 2)
        assert await waiting.admitted(LONG)

    asyncio.run(main())


def test_queues_that_are_too_many_go_when_they_are_empty(hall):
    room = hall(QUEUES, 1)
    tickets = [room.start(f"flow{number}") for number in range(4)]
    busy = sum(not queue.idle for queue in room.queues.queues)
    room.queues.configure(Queuing(1, 3, 1), 1)
    assert len(room.queues.queues) == busy
    for _ in tickets:
        next(t for t in tickets if t.state is EXECUTING).finish()
    assert len(room.queues.queues) == 1
    assert [queue.index for queue in room.queues.queues] == [0]


def test_a_level_that_no_longer_queues_still_serves_those_that_wait(hall):
    room = hall(QUEUES, 1)
    first, second = room.start(), room.start()
    room.queues.configure(REJECT, 1)
    assert room.start() is None
    first.finish()
    assert second.state is EXECUTING
