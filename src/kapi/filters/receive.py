"""The outer end of the chain: a request from the wire becomes a Call, and its end is told to whoever asked.

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
            _finish(call, CLIENT_CLOSED_REQUEST)
            raise
        if response.stream is not None and request.method != "HEAD":
            response.stream = _until_end(call, response.status, response.stream)
        elif response.upgrade is not None:
            response.upgrade = _until_end(call, response.status, response.upgrade)
        else:
            status = response.status
            for callback in call.finished:
                callback(status)
        return response

    return serve


def _finish(call: Call, status: int) -> None:
    callbacks, call.finished = call.finished, []
    for callback in callbacks:
        callback(status)


def _until_end(
    call: Call, status: int, stream: Callable[[_Stream], Awaitable[None]]
) -> Callable[[_Stream], Awaitable[None]]:
    # A client that leaves before the stream starts must not be waited for.
    call.request.on_disconnect(lambda: _finish(call, status))

    async def run(output: _Stream) -> None:
        try:
            await stream(output)
        finally:
            _finish(call, status)

    return run
