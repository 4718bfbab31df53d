"""The queue set of a priority level: fair queuing for requests whose length is known only once they are over.

A flow's request goes to the shortest queue of its hand. Queues take turns by virtual time R, which advances by the
seat-seconds that each queue with work is due: a request is guessed to take ESTIMATED_SECONDS, and when it is over its
queue is charged for what it really took. The queue whose next request would end first in virtual time is served next.

While nothing waits, there are seats and the loop's turn is not yet full, a request starts at once: no future, no task,
no queue to search.
"""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from kapi.api.call import Call
from kapi.flowcontrol.demand import Demand, Observed
from kapi.flowcontrol.flow import Flow
from kapi.flowcontrol.metrics import FlowControlMetrics
from kapi.flowcontrol.shuffle_sharding import deal, flow_hash
from kapi.flowcontrol.ticket import EXECUTING, Ticket
from kapi.flowcontrol.turn import Turn
from kapi.flowcontrol.work import ESTIMATED_SECONDS, Work


class Queuing(NamedTuple):
    """What becomes of requests beyond the seats. No queues: they are refused; fewer: there is no limit."""

    queues: int
    length: int = 0
    hand: int = 0

    @property
    def room(self) -> int:
        """For how many requests there is, in all queues."""
        return max(self.queues, 0) * self.length


# Seats in use, seats waited for, requests that execute, requests that wait.
State: TypeAlias = tuple[int, int, int, int]
_IDLE: State = (0, 0, 0, 0)
EXEMPT = Queuing(-1)
REJECT = Queuing(0)


class Queue:
    """`next_r` is the virtual time at which its next request starts; the sums are of those that wait."""

    __slots__ = ("executing", "index", "initial_sum", "next_r", "seats_in_use", "seats_sum", "waiting", "work_sum")

    def __init__(self, index: int) -> None:
        self.index = index
        self.waiting: OrderedDict[Ticket, None] = OrderedDict()
        self.executing: dict[Ticket, None] = {}
        self.next_r = self.work_sum = 0.0
        self.seats_in_use = self.initial_sum = self.seats_sum = 0

    @property
    def idle(self) -> bool:
        return not self.waiting and not self.executing

    def put(self, ticket: Ticket) -> None:
        self.waiting[ticket] = None
        self._add(ticket, 1)

    def take(self, ticket: Ticket) -> None:
        del self.waiting[ticket]
        self._add(ticket, -1)

    def _add(self, ticket: Ticket, sign: int) -> None:
        self.initial_sum += sign * ticket.work.initial
        self.seats_sum += sign * ticket.work.seats
        self.work_sum = self.work_sum + sign * ticket.work.total if self.waiting else 0.0

    def bound(self) -> None:
        """Nothing starts before it came: a queue that could not use its due must not save it up."""
        if self.waiting:
            self.next_r = max(self.next_r, next(iter(self.waiting)).arrival_r)


class QueueSet:
    """`limit` is the number of seats at present. `on_idle` is called when the last request is over."""

    def __init__(self, name: str, now: Callable[[], float], metrics: FlowControlMetrics) -> None:
        self.name = name
        self.demand = Demand(now())
        self.limit = 0
        self.queues: list[Queue] = []
        self.queueless: dict[Ticket, None] = {}  # executing, though they never had a queue
        self.waiting = self.executing = 0
        self.seats_waiting = self.seats_in_use = 0
        self.dispatched = self.rejected = self.cancelled = 0
        self.current_r = self.dispatch_r = 0.0
        self.latest_s: float | None = None  # the virtual start of the request that last left a queue
        self.on_idle: Callable[[], None] | None = None
        self._now = now
        self._metrics = metrics
        self._queuing = REJECT
        self.synced = now()  # when it last accounted for the time
        self._states: dict[State, float] = {}  # seconds, by how busy it was
        self._states_from = self.synced
        self._active = 0  # queues that are not idle
        self._backlog: dict[Queue, None] = {}  # queues in which requests wait
        self._robin = 0
        self._dealt = 0
        self._turn = Turn(self._next_turn)

    # Configuration

    def configure(self, queuing: Queuing, limit: int) -> None:
        """New settings hold at once; queues that are too many go when they are empty."""
        self._advance()
        self._queuing = queuing
        self.limit = limit
        self.queues += [Queue(index) for index in range(len(self.queues), queuing.queues)]
        self._drop_surplus()
        self._dispatch()

    def deal(self, schema: str, distinguisher: str) -> tuple[int, ...]:
        """The hand of a flow, good until the next `configure`."""
        queues = self._queuing.queues
        if queues < 1:
            return ()
        # As upstream: where there is one queue, flows are not told apart.
        return (0,) if queues == 1 else deal(flow_hash(schema, distinguisher), queues, self._queuing.hand)

    def _drop_surplus(self) -> None:
        surplus = len(self.queues) - max(self._queuing.queues, 0)
        for queue in reversed(self.queues):
            if surplus > 0 and queue.idle and not queue.seats_in_use:
                self.queues.remove(queue)
                surplus -= 1
        for index, queue in enumerate(self.queues):
            queue.index = index

    @property
    def idle(self) -> bool:
        return not self.waiting and not self.executing

    # A request comes

    def start(self, flow: Flow, work: Work, call: Call) -> Ticket | None:
        """Executing, waiting, or None: refused."""
        self._advance()
        if self._queuing.queues < 1:
            if not self._accommodates(work.seats):
                self._refuse(flow, "concurrency-limit")
                return None
            ticket = Ticket(self, None, flow, work, call)
            self._execute(ticket)
            return ticket
        queue = self._shortest(flow.hand)
        if not queue.waiting:
            if not queue.executing:
                queue.next_r = self.current_r
                self._active += 1
            flow.tally.straight += 1
        elif self.seats_in_use >= self.limit and len(queue.waiting) >= self._queuing.length:
            self._refuse(flow, "queue-full")
            return None
        else:
            self._metrics.queue_length.observe(len(queue.waiting) + 1, flow.tally.labels)
        ticket = Ticket(self, queue, flow, work, call)
        has_seats = not self.waiting and self.seats_in_use < self.limit and self._accommodates(work.seats)
        if has_seats and self._turn.take(self.synced):
            self._execute(ticket)
        else:
            self._enqueue(ticket, queue)
            self._dispatch()
        return ticket

    def _refuse(self, flow: Flow, reason: str) -> None:
        self.rejected += 1
        self._metrics.rejected.inc((*flow.tally.labels, reason))

    def _accommodates(self, seats: int) -> bool:
        if self.seats_in_use + seats <= self.limit or self._queuing.queues < 0:
            return True
        # One that would never fit has the level for itself.
        return seats > self.limit and not self.executing

    def _shortest(self, hand: tuple[int, ...]) -> Queue:
        """The one with the least work waiting; among equals, each in turn."""
        offset = self._dealt % len(hand)
        self._dealt += 1
        first = self.queues[hand[offset]]
        if not self.waiting or not first.waiting:
            return first
        return min((self.queues[card] for card in hand[offset:] + hand[:offset]), key=lambda queue: queue.work_sum)

    def _enqueue(self, ticket: Ticket, queue: Queue) -> None:
        queue.put(ticket)
        queue.bound()
        self._backlog[queue] = None
        seats, tally = ticket.work.seats, ticket.flow.tally
        self.waiting += 1
        self.seats_waiting += seats
        tally.waiting += 1
        tally.seats_waiting += seats
        self._metrics.in_queue[ticket.kind] += 1
        self._note_demand()

    def _dequeue(self, ticket: Ticket, queue: Queue) -> None:
        queue.take(ticket)
        if not queue.waiting:
            del self._backlog[queue]
        seats, tally = ticket.work.seats, ticket.flow.tally
        self.waiting -= 1
        self.seats_waiting -= seats
        tally.waiting -= 1
        tally.seats_waiting -= seats
        self._metrics.in_queue[ticket.kind] -= 1

    # Its turn comes

    def _dispatch(self) -> None:
        while self.waiting and self.seats_in_use < self.limit and self._turn.take(self.synced):
            queue = self._next_queue()
            ticket = next(iter(queue.waiting))
            if not self._accommodates(ticket.work.seats):
                self._metrics.not_accommodated.inc(ticket.flow.tally.labels)
                return
            self._robin = queue.index
            self._dequeue(ticket, queue)
            if ticket.admit():
                self._execute(ticket)
            else:
                self._now_idle(queue)
            queue.bound()

    def _next_turn(self) -> None:
        self._advance()
        self._dispatch()

    def _next_queue(self) -> Queue:
        """The one whose oldest request would end first in virtual time; among equals, each in turn."""
        after, count = self._robin + 1, len(self.queues)

        def rank(queue: Queue) -> tuple[float, int]:
            return queue.next_r + next(iter(queue.waiting)).work.total, (queue.index - after) % count

        return min(self._backlog, key=rank)

    def _execute(self, ticket: Ticket) -> None:
        work, tally, queue = ticket.work, ticket.flow.tally, ticket.queue
        seats = work.seats
        ticket.state = EXECUTING
        ticket.started = self.synced
        if queue is None:
            self.queueless[ticket] = None
        else:
            queue.executing[ticket] = None
            queue.seats_in_use += seats
            self.dispatch_r, self.latest_s = self.current_r, queue.next_r
            queue.next_r += ticket.work.total
        self.executing += 1
        self.dispatched += 1
        self.seats_in_use += seats
        tally.executing += 1
        tally.seats_in_use += seats
        tally.dispatched += 1
        self._metrics.in_flight[ticket.kind] += 1
        self._note_demand()

    # It is over

    def leave(self, ticket: Ticket) -> None:
        """Nobody waits for it any more."""
        queue = ticket.queue
        assert queue is not None, "what has no queue does not wait"
        self._advance()
        if ticket in queue.waiting:
            self._dequeue(ticket, queue)
            queue.bound()
            self._now_idle(queue)
        self.rejected += 1
        self.cancelled += 1
        self._metrics.rejected.inc((*ticket.flow.tally.labels, "time-out"))
        self._go_on()

    def finish(self, ticket: Ticket) -> None:
        self._advance()
        work, tally, queue = ticket.work, ticket.flow.tally, ticket.queue
        took = self.synced - ticket.started
        self.executing -= 1
        tally.executing -= 1
        self._metrics.in_flight[ticket.kind] -= 1
        self._metrics.execution.observe(took, tally.watch if ticket.call.info.verb == "watch" else tally.regular)
        if queue is None:
            del self.queueless[ticket]
        else:
            del queue.executing[ticket]
            queue.next_r -= work.initial * (ESTIMATED_SECONDS - took)
            queue.bound()
            self._now_idle(queue)
        if work.latency > 0:
            asyncio.get_running_loop().call_later(work.latency, self._linger_no_more, ticket)
        else:
            self._release(ticket)
        self._go_on()

    def _linger_no_more(self, ticket: Ticket) -> None:
        self._advance()
        self._release(ticket)
        self._go_on()

    def _release(self, ticket: Ticket) -> None:
        seats, queue = ticket.work.seats, ticket.queue
        self.seats_in_use -= seats
        ticket.flow.tally.seats_in_use -= seats
        if queue is not None:
            queue.seats_in_use -= seats
            if len(self.queues) > self._queuing.queues:
                self._drop_surplus()

    def _now_idle(self, queue: Queue) -> None:
        """After one left the queue or ended: it may have been the last."""
        if not queue.waiting and not queue.executing:
            self._active -= 1

    def _go_on(self) -> None:
        if self.waiting:
            self._dispatch()
        if self.on_idle is not None and self.idle:
            self.on_idle()

    # Time

    def _advance(self) -> None:
        """Account for the time in which everything was as it is now, before that changes."""
        now = self._now()
        demand = self.seats_in_use + self.seats_waiting
        if demand:
            seconds = now - self.synced
            self.demand.add(demand, seconds)
            state = (self.seats_in_use, self.seats_waiting, self.executing, self.waiting)
            states = self._states
            states[state] = states.get(state, 0.0) + seconds
            if self._active:
                self.current_r += min(demand, self.limit) / self._active * seconds
        self.synced = now

    def _note_demand(self) -> None:
        demand = self.seats_in_use + self.seats_waiting
        if demand > self.demand.high:
            self.demand.high = demand

    def read_states(self) -> dict[State, float]:
        """How many seconds it was in which state since the last time this was asked."""
        self._advance()
        states, self._states = self._states, {}
        idle = self.synced - self._states_from - sum(states.values())
        self._states_from = self.synced
        return {_IDLE: idle, **states}

    def next_starts(self) -> list[tuple[float, float]]:
        """Of each queue in which requests wait: when the next one starts, and that less the work under way."""
        return [(queue.next_r, queue.next_r - queue.seats_in_use * ESTIMATED_SECONDS) for queue in self._backlog]

    def observed(self) -> Observed:
        """The demand for seats since the last time this was asked."""
        self._advance()
        return self.demand.read(self.seats_in_use + self.seats_waiting, self.synced)
