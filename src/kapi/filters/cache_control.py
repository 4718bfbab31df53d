"""Cache control: everything is behind authentication, so no shared cache may keep it."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.filters.handler import CallHandler, add_header
from kapi.wire.messages import Response


def with_cache_control(next: CallHandler) -> CallHandler:
    async def handle(call: Call) -> Response:
        response = await next(call)
        add_header(response, b"cache-control", b"no-cache, private")
        return response

    return handle
