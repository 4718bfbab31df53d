"""During shutdown with `--shutdown-send-retry-after`: new requests are asked to come back, to another server."""

from __future__ import annotations

from asyncio import Event
from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.filters.handler import CallHandler, exempt_from_shutdown
from kapi.wire.messages import Response, text


def with_retry_after(next: CallHandler, not_accepting: Event) -> CallHandler:
    def handle(call: Call) -> Awaitable[Response]:
        if not not_accepting.is_set() or exempt_from_shutdown(call):
            return next(call)
        return _come_back(call)

    return handle


async def _come_back(call: Call) -> Response:
    call.request.connection.go_away()
    message = "The apiserver is shutting down, please try again later.\n"
    return text(429, message, [(b"retry-after", b"5")])
