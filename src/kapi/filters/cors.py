"""CORS: pages of the allowed origins may call the API from a browser."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Sequence

from kapi.api.call import Call
from kapi.filters.handler import CallHandler
from kapi.wire.messages import Response

_HEADERS = (
    (b"access-control-allow-methods", b"POST, GET, OPTIONS, PUT, DELETE, PATCH"),
    (
        b"access-control-allow-headers",
        b"Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, "
        b"If-Modified-Since",
    ),
    (b"access-control-expose-headers", b"Date"),
    (b"access-control-allow-credentials", b"true"),
)


def with_cors(next: CallHandler, allowed_origins: Sequence[str]) -> CallHandler:
    if not allowed_origins:
        return next
    patterns = [re.compile(pattern) for pattern in allowed_origins]

    def handle(call: Call) -> Awaitable[Response]:
        origin = call.request.headers.get("origin")
        if origin and any(pattern.search(origin) for pattern in patterns):
            call.headers.append((b"access-control-allow-origin", origin.encode()))
            call.headers.extend(_HEADERS)
            if call.request.method == "OPTIONS":
                return _preflight()
        return next(call)

    return handle


async def _preflight() -> Response:
    return Response(204, [])
