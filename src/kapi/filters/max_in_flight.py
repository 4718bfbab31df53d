"""Max in flight: so many reads and so many writes at a time; more are told to come back."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.api.user import SYSTEM_PRIVILEGED_GROUP
from kapi.filters.handler import CallHandler, too_many_requests
from kapi.telemetry.metrics import Gauge, Labels
from kapi.telemetry.requests import MUTATING, READ_ONLY, READS, RequestMetrics
from kapi.wire.messages import Response


class _Pool:
    """One limit; zero is none."""

    def __init__(self, kind: Labels, limit: int, gauge: Gauge) -> None:
        self.limit = limit
        self.labels = kind
        self._gauge = gauge
        self.used = 0

    def take(self) -> bool:
        if self.used >= self.limit:
            return False
        self.used += 1
        self._gauge.values[self.labels] = self.used
        return True

    def give_back(self, _call: Call, _status: int) -> None:
        self.used -= 1
        self._gauge.values[self.labels] = self.used


def with_max_in_flight(next: CallHandler, reads: int, writes: int, metrics: RequestMetrics) -> CallHandler:
    if not reads and not writes:
        return next
    read_pool = _Pool(READ_ONLY, reads, metrics.in_flight)
    write_pool = _Pool(MUTATING, writes, metrics.in_flight)

    def handle(call: Call) -> Awaitable[Response]:
        if call.long_running:
            return next(call)
        pool = read_pool if call.info.verb in READS else write_pool
        if not pool.limit:
            return next(call)
        if pool.take():
            call.finished.append(pool.give_back)
            return next(call)
        # The most privileged always get an answer: it may be theirs to repair what is wrong.
        if SYSTEM_PRIVILEGED_GROUP in call.user.groups:
            return next(call)
        metrics.dropped.inc(pool.labels)
        return too_many_requests()

    return handle
