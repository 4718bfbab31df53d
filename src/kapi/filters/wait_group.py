"""The wait group: shutdown waits for the requests that are under way, and lets no new one in while it waits."""

from __future__ import annotations

from asyncio import Event
from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.api.errors import ServiceUnavailable
from kapi.codec.status import status_response
from kapi.filters.handler import CallHandler, exempt_from_shutdown
from kapi.wire.messages import Response


class WaitGroup:
    """Counts what is under way. After `close` nothing more may be added."""

    def __init__(self) -> None:
        self.count = 0
        self.closed = False
        self._empty = Event()

    def add(self) -> bool:
        if self.closed:
            return False
        self.count += 1
        return True

    def done(self, _call: Call, _status: int) -> None:
        self.count -= 1
        if self.closed and self.count == 0:
            self._empty.set()

    def close(self) -> None:
        self.closed = True
        if self.count == 0:
            self._empty.set()

    async def wait(self) -> None:
        """Close, and return when nothing is under way any more."""
        self.close()
        await self._empty.wait()


def with_wait_group(next: CallHandler, group: WaitGroup) -> CallHandler:
    def handle(call: Call) -> Awaitable[Response]:
        if call.long_running:
            return next(call)
        if group.add():
            call.finished.append(group.done)
        elif not exempt_from_shutdown(call):
            return refuse_shutting_down(call)
        return next(call)

    return handle


async def refuse_shutting_down(call: Call) -> Response:
    call.request.connection.go_away()
    error = ServiceUnavailable("apiserver is shutting down")
    error.retry_after = 1
    response = status_response(error)
    response.headers.append((b"x-content-type-options", b"nosniff"))
    return response
