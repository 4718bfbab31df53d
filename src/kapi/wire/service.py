"""Service: what all connections of one listener share. It runs the handler, one task per request.

Time is coarse on purpose: `now` and `date` move once a second with the listener's sweep, so that no request pays
for a clock or a timer of its own.
"""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Coroutine
from typing import Any, Protocol

from kapi.wire.framing import ErrorLog
from kapi.wire.limits import Limits
from kapi.wire.messages import Handler


class Running(Protocol):
    """A request under way: something that runs to the end of its answer."""

    task: asyncio.Task[None] | None

    def run(self) -> Coroutine[Any, Any, None]: ...


class Served(Protocol):
    """A connection, as the listener sees it."""

    def go_away(self) -> None: ...

    def abort(self) -> None: ...

    def check(self, now: float) -> None:
        """Called once a second: close what is overdue."""


class Service:
    __slots__ = ("changed", "connections", "date", "draining", "handler", "in_flight", "limits", "log", "loop", "now")

    def __init__(self, handler: Handler, limits: Limits, log: ErrorLog) -> None:
        self.handler = handler
        self.limits = limits
        self.log = log
        self.loop = asyncio.get_running_loop()
        self.connections: set[Served] = set()
        self.in_flight: set[Running] = set()
        self.draining = False
        self.changed = asyncio.Event()  # set whenever a connection or a request ends while draining
        self.tick()

    def tick(self) -> None:
        self.now = self.loop.time()
        self.date = time.strftime("%a, %d %b %Y %H:%M:%S GMT", time.gmtime()).encode()

    def start(self, request: Running) -> None:
        """Run the request in its own task, held here until it ends."""
        self.in_flight.add(request)
        request.task = _new_task(request.run(), self.loop)

    def ended(self, request: Running) -> None:
        self.in_flight.discard(request)
        if self.draining:
            self.changed.set()

    def disconnected(self, connection: Served) -> None:
        self.connections.discard(connection)
        if self.draining:
            self.changed.set()


if sys.version_info >= (3, 12):

    def _new_task(coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
        return asyncio.Task(coroutine, loop=loop, name="request", eager_start=True)

else:

    def _new_task(coroutine: Coroutine[Any, Any, None], loop: asyncio.AbstractEventLoop) -> asyncio.Task[None]:
        # Named, or each task would spend time on making up a name.
        return asyncio.Task(coroutine, loop=loop, name="request")
