"""The HTTP log: from `-v=3` on, a line for each request when it has ended."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.filters.handler import CallHandler
from kapi.filters.request_metrics import reported_verb
from kapi.telemetry.log import Log
from kapi.wire.messages import Response

LEVEL = 3


def with_http_log(next: CallHandler, log: Log, clock: Clock) -> CallHandler:
    def write(call: Call, status: int) -> None:
        _write(log, call, status, clock.monotonic() - call.received)

    def handle(call: Call) -> Awaitable[Response]:
        if log.verbosity >= LEVEL:
            call.finished.append(write)
        return next(call)

    return handle


def _write(log: Log, call: Call, status: int, seconds: float) -> None:
    request = call.request
    log.debug(
        LEVEL,
        "HTTP",
        verb=reported_verb(call),
        URI=f"{request.path}?{request.query}" if request.query else request.path,
        latency=f"{seconds * 1000:.3f}ms",
        userAgent=request.headers.get("user-agent") or "",
        auditID=call.audit_id,
        srcIP=f"{request.connection.remote[0]}:{request.connection.remote[1]}",
        resp=status,
    )
