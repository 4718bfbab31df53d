"""Max in flight: so many reads and so many writes at a time; more are told to come back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kapi.api.call import Call
from kapi.api.errors import TooManyRequests
from kapi.api.user import SYSTEM_PRIVILEGED_GROUP
from kapi.filters.handler import CallHandler, refuse
from kapi.telemetry.metrics import Gauge
from kapi.telemetry.requests import RequestMetrics
from kapi.wire.messages import Response

_READS = frozenset(("get", "list", "watch"))


class _Pool:
    """One limit; zero is none."""

    def __init__(self, kind: str, limit: int, gauge: Gauge) -> None:
        self.limit = limit
        self.labels = (kind,)
        self._gauge = gauge
        self._gauge.set(0, self.labels)
        self.used = 0

    def take(self) -> bool:
        if self.used >= self.limit:
            return False
        self.used += 1
        self._gauge.values[self.labels] = self.used
        return True

    def give_back(self, _status: int) -> None:
        self.used -= 1
        self._gauge.values[self.labels] = self.used


def with_max_in_flight(next: CallHandler, reads: int, writes: int, metrics: RequestMetrics) -> CallHandler:
    if not reads and not writes:
        return next
    read_pool = _Pool("readOnly", reads, metrics.in_flight)
    write_pool = _Pool("mutating", writes, metrics.in_flight)

    def handle(call: Call) -> Awaitable[Response]:
        if call.long_running:
            return next(call)
        pool = read_pool if call.info.verb in _READS else write_pool
        if not pool.limit:
            return next(call)
        if pool.take():
            release: Callable[[int], None] = pool.give_back
            call.finished.append(release)
            return next(call)
        # The most privileged always get an answer: it may be theirs to repair what is wrong.
        if SYSTEM_PRIVILEGED_GROUP in call.user.groups:
            return next(call)
        metrics.dropped.inc(pool.labels)
        return refuse(call, TooManyRequests("Too many requests, please try again later."))

    return handle
