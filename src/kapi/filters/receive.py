"""The outer end of the chain: a request from the wire becomes a Call, and its end is told to whoever asked.

The headers that filters want in the answer are added here, so that they need not wait for it themselves.

`call.finished` runs once: when a plain answer is handed back, when a stream or an upgraded connection has ended, or
when the request was cancelled.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.filters.handler import CallHandler
from kapi.wire.messages import Handler, Request, Response

_Stream = TypeVar("_Stream")

# Nothing was answered: the client went away. As nginx counts it.
CLIENT_CLOSED_REQUEST = 499


def receive(next: CallHandler, clock: Clock) -> Handler:
    monotonic = clock.monotonic

    async def serve(request: Request) -> Response:
        call = Call(request, monotonic())
        try:
            response = await next(call)
        except BaseException:
            finish(call, CLIENT_CLOSED_REQUEST)
            raise
        complete(call, response)
        if response.stream is not None and request.method != "HEAD":
            response.stream = _until_end(call, response.status, response.stream)
        elif response.upgrade is not None:
            response.upgrade = _until_end(call, response.status, response.upgrade)
        else:
            finish(call, response.status)
        return response

    return serve


def complete(call: Call, response: Response) -> None:
    """Add what the filters want in the answer, unless the handler has set it itself."""
    call.response = response
    own = [name for name, _ in response.headers]
    response.headers += [header for header in call.headers if header[0] not in own]


def finish(call: Call, status: int) -> None:
    """It is over. Whoever wanted to know is told once."""
    callbacks, call.finished = call.finished, []
    for callback in callbacks:
        callback(call, status)


def _until_end(
    call: Call, status: int, stream: Callable[[_Stream], Awaitable[None]]
) -> Callable[[_Stream], Awaitable[None]]:
    # A client that leaves before the stream starts must not be waited for.
    call.request.on_disconnect(lambda: finish(call, status))

    async def run(output: _Stream) -> None:
        try:
            await stream(output)
        finally:
            finish(call, status)

    return run
