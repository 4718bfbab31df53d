"""Ticket: one request on its way through a queue set. It waits or it executes, and it is over once."""

from __future__ import annotations

import asyncio
from enum import Enum
from typing import TYPE_CHECKING

from kapi.api.call import Call
from kapi.flowcontrol.flow import Flow
from kapi.flowcontrol.work import Work
from kapi.telemetry.requests import MUTATING, READ_ONLY, READS

if TYPE_CHECKING:
    from kapi.flowcontrol.queue_set import Queue, QueueSet


class State(Enum):
    WAITING = "waiting"
    EXECUTING = "executing"
    OVER = "over"


# Looked up with every request; a member of an Enum is found more slowly.
WAITING, EXECUTING, OVER = State.WAITING, State.EXECUTING, State.OVER


class Ticket:
    """`arrived` and `started` are monotonic; `arrival_r` is the virtual time of the arrival."""

    __slots__ = (
        "_decision",
        "arrival_r",
        "arrived",
        "call",
        "flow",
        "kind",
        "queue",
        "set",
        "started",
        "state",
        "work",
    )

    def __init__(self, queue_set: QueueSet, queue: Queue | None, flow: Flow, work: Work, call: Call) -> None:
        self.set = queue_set
        self.queue = queue
        self.flow = flow
        self.work = work
        self.call = call
        self.kind = READ_ONLY if call.info.verb in READS else MUTATING
        self.state = WAITING
        self.arrived = queue_set.synced
        self.arrival_r = queue_set.current_r
        self.started = 0.0
        self._decision: asyncio.Future[bool] | None = None

    async def admitted(self, seconds: float) -> bool:
        """Wait for a seat that long at most: whether there is one now."""
        if self.state is not WAITING:
            return self.state is EXECUTING
        loop = asyncio.get_running_loop()
        self._decision = loop.create_future()
        timer = loop.call_later(max(0.0, seconds), self.give_up)
        try:
            return await self._decision
        except asyncio.CancelledError:
            # The client went away; it may have been given a seat in the same turn of the loop.
            self.finish()
            self.give_up()
            raise
        finally:
            timer.cancel()

    def admit(self) -> bool:
        """Its turn has come; False when nobody waits for that any more."""
        if self._decision is not None:
            if self._decision.done():
                return False
            self._decision.set_result(True)
        self.state = EXECUTING
        return True

    def give_up(self) -> None:
        """Nobody waits for it any more; if it waits no more itself, that changes nothing."""
        if self.state is WAITING:
            self.state = OVER
            self.set.leave(self)
            if self._decision is not None and not self._decision.done():
                self._decision.set_result(False)

    def answered(self, _call: Call, _status: int) -> None:
        self.finish()

    def finish(self) -> None:
        """The request has been answered, or as far as a watch is concerned, has begun. Only the first time counts."""
        if self.state is EXECUTING:
            self.state = OVER
            self.set.finish(self)
