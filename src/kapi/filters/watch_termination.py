"""Watch termination: at shutdown, watches end as if their time had run out, a few at a time.

A watch that was told to end sees a cancellation inside its stream; outside, the response ends cleanly.
"""

from __future__ import annotations

import asyncio
from asyncio import CancelledError, Task
from collections.abc import Awaitable, Callable
from typing import Any

from kapi.api.call import Call
from kapi.filters.handler import CallHandler
from kapi.filters.wait_group import WaitGroup, refuse_shutting_down
from kapi.wire.messages import BodyStream, Response

# However long the grace period is, watches end at least at this rate per second, as upstream.
LEAST_RATE = 200.0


class Watches:
    """The watches under way."""

    def __init__(self) -> None:
        self.group = WaitGroup()
        self._streams: dict[Task[Any], bool] = {}  # the task that runs it: was it told to end?

    async def run(self, stream: Callable[[BodyStream], Awaitable[None]], output: BodyStream) -> None:
        task = asyncio.current_task()
        if self.group.closed:
            return
        if task is None:
            return await stream(output)
        self._streams[task] = False
        try:
            await stream(output)
        except CancelledError:
            if not self._streams[task] or task.uncancel() > 0:
                raise
        finally:
            del self._streams[task]

    async def terminate(self, grace: float) -> None:
        """End them all within the grace period, evenly spread; return when they have ended or the period is over."""
        self.group.close()
        tasks = list(self._streams)
        if grace > 0 and tasks:
            rate = max(len(tasks) / grace, LEAST_RATE)
            per_turn = max(1, round(rate / 20))
            for start in range(0, len(tasks), per_turn):
                self._end(tasks[start : start + per_turn])
                await asyncio.sleep(per_turn / rate)
        self._end(list(self._streams))
        if self._streams:
            await asyncio.wait(list(self._streams), timeout=max(grace, 1.0))

    def _end(self, tasks: list[Task[Any]]) -> None:
        for task in tasks:
            if self._streams.get(task) is False:
                self._streams[task] = True
                task.cancel()


def with_watch_termination(next: CallHandler, watches: Watches) -> CallHandler:
    group = watches.group

    async def watch(call: Call) -> Response:
        if not group.add():
            return await refuse_shutting_down(call)
        call.finished.append(group.done)
        response = await next(call)
        stream = response.stream
        if stream is not None:
            response.stream = lambda output: watches.run(stream, output)
        return response

    def handle(call: Call) -> Awaitable[Response]:
        return watch(call) if call.info.verb == "watch" else next(call)

    return handle
