"""The request deadline: what is not long-running must be answered by then."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.api.duration import SECOND, parse_duration
from kapi.api.errors import BadRequest
from kapi.filters.handler import CallHandler, Wrap, refuse, unchanged
from kapi.wire.messages import Response


def with_request_deadline(next: CallHandler, request_timeout: float, refused: Wrap = unchanged) -> CallHandler:
    """`refused` wraps what answers a request whose own timeout cannot be read."""

    def handle(call: Call) -> Awaitable[Response]:
        if call.long_running:
            return next(call)
        timeout = request_timeout
        given = call.params.get("timeout")
        if given and given[0]:
            try:
                asked = parse_duration(given[0]) / SECOND
            except ValueError as error:
                problem = BadRequest(f"invalid timeout specified in the request URL - {error}")
                return refused(lambda call: refuse(call, problem))(call)
            # Zero is no wish of the client's; nobody gets more than the server allows.
            if 0 < asked < timeout:
                timeout = asked
        call.deadline = call.received + timeout
        return next(call)

    return handle
