"""HSTS: browsers are told to come over TLS only."""

from __future__ import annotations

from collections.abc import Awaitable, Sequence

from kapi.api.call import Call
from kapi.filters.handler import CallHandler
from kapi.wire.messages import Response


def with_hsts(next: CallHandler, directives: Sequence[str]) -> CallHandler:
    if not directives:
        return next
    header = (b"strict-transport-security", "; ".join(directives).encode())

    def handle(call: Call) -> Awaitable[Response]:
        call.headers.append(header)
        return next(call)

    return handle
