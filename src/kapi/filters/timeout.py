"""The timeout: a request that is not answered by its deadline is cancelled and answered with a 504.

Requests with the server's own timeout expire in the order they came, so one dictionary in that order and one timer
serve them all; only a timeout of the client's own costs a timer. So a request that is in time pays next to nothing.
"""

from __future__ import annotations

import asyncio
from asyncio import CancelledError, Task, TimerHandle, current_task
from typing import Any

from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.api.errors import Timeout
from kapi.codec.status import status_response
from kapi.filters.handler import CallHandler
from kapi.wire.messages import ClientGone, Response


class Deadlines:
    """Cancels the tasks of overdue requests."""

    def __init__(self, clock: Clock) -> None:
        self._now = clock.monotonic
        self._pending: dict[Call, Task[Any]] = {}
        self._own: dict[Call, TimerHandle] = {}
        self._expired: set[Call] = set()
        self._timer: TimerHandle | None = None

    def start(self, call: Call, task: Task[Any]) -> None:
        self._pending[call] = task
        if "timeout" in call.params:
            self._own[call] = self._at(call)
        elif self._timer is None:
            self._timer = self._at(call)

    def stop(self, call: Call, task: Task[Any]) -> bool:
        """The request is over; True when it was cancelled because its time had run out."""
        self._pending.pop(call, None)
        own = self._own.pop(call, None)
        if own is not None:
            own.cancel()
        if call not in self._expired:
            return False
        self._expired.remove(call)
        # Someone else may have cancelled it as well: that must go on.
        return task.uncancel() == 0

    def _at(self, call: Call) -> TimerHandle:
        assert call.deadline is not None
        return asyncio.get_running_loop().call_later(max(0.0, call.deadline - self._now()), self._sweep, call)

    def _sweep(self, armed_for: Call) -> None:
        if armed_for in self._own:
            self._expire(armed_for)
            return
        self._timer = None
        now = self._now()
        for call in list(self._pending):
            if call in self._own:
                continue
            assert call.deadline is not None
            if call.deadline > now:
                self._timer = self._at(call)
                return
            self._expire(call)

    def _expire(self, call: Call) -> None:
        task = self._pending.pop(call, None)
        if task is not None:
            self._expired.add(call)
            task.cancel()


def with_timeout(next: CallHandler, deadlines: Deadlines) -> CallHandler:
    async def handle(call: Call) -> Response:
        task = current_task()
        if call.deadline is None or task is None:
            return await next(call)
        deadlines.start(call, task)
        try:
            response = await next(call)
        except CancelledError:
            if deadlines.stop(call, task):
                return status_response(Timeout("request did not complete within the allotted timeout"))
            raise
        finally:
            deadlines.stop(call, task)
        if response.stream is not None:
            _bound_stream(response, call, deadlines)
        return response

    return handle


def _bound_stream(response: Response, call: Call, deadlines: Deadlines) -> None:
    """A body that is still being sent at the deadline is broken off: its head has been sent, no status can tell."""
    stream = response.stream
    assert stream is not None

    async def run(output: Any) -> None:
        task = current_task()
        if task is None:
            return await stream(output)
        deadlines.start(call, task)
        try:
            await stream(output)
        except CancelledError:
            if deadlines.stop(call, task):
                raise ClientGone("the response was not sent within the request's timeout") from None
            raise
        finally:
            deadlines.stop(call, task)

    response.stream = run
