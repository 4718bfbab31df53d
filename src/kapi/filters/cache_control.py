"""Cache control: everything is behind authentication, so no shared cache may keep it."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.filters.handler import CallHandler
from kapi.wire.messages import Response

_PRIVATE = (b"cache-control", b"no-cache, private")


def with_cache_control(next: CallHandler) -> CallHandler:
    def handle(call: Call) -> Awaitable[Response]:
        call.headers.append(_PRIVATE)
        return next(call)

    return handle
