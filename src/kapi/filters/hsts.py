"""HSTS: browsers are told to come over TLS only."""

from __future__ import annotations

from collections.abc import Sequence

from kapi.api.call import Call
from kapi.filters.handler import CallHandler, add_header
from kapi.wire.messages import Response


def with_hsts(next: CallHandler, directives: Sequence[str]) -> CallHandler:
    if not directives:
        return next
    value = "; ".join(directives).encode()

    async def handle(call: Call) -> Response:
        response = await next(call)
        add_header(response, b"strict-transport-security", value)
        return response

    return handle
