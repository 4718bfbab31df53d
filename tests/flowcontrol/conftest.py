"""Priority levels with queues on a clock that is set, and the requests that go through them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kapi.api.call import Call
from kapi.api.request_info import RequestInfo, parse_query, parse_request_info
from kapi.api.user import User
from kapi.flowcontrol.flow import Flow
from kapi.flowcontrol.level import Level
from kapi.flowcontrol.metrics import FlowControlMetrics
from kapi.flowcontrol.queue_set import QueueSet, Queuing
from kapi.flowcontrol.ticket import Ticket
from kapi.flowcontrol.work import ONE_SEAT, Work
from kapi.telemetry.metrics import Registry
from kapi.telemetry.requests import RequestMetrics


class SetClock:
    def __init__(self) -> None:
        self.time = 1_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


class Hall:
    """One priority level, and those who come to it."""

    def __init__(self, queuing: Queuing, limit: int) -> None:
        self.clock = SetClock()
        self.registry = Registry()
        self.metrics = FlowControlMetrics(self.registry, RequestMetrics(self.registry))
        self.level = Level("hall", self.clock.monotonic, self.metrics)
        self.queues.configure(queuing, limit)

    @property
    def queues(self) -> QueueSet:
        return self.level.queues

    def flow(self, name: str = "someone") -> Flow:
        return Flow(self.level, "schema", name, [], self.metrics.tally("hall", "schema"))

    def start(self, name: str = "someone", work: Work = ONE_SEAT) -> Ticket | None:
        return self.queues.start(self.flow(name), work, new_call())


def new_info(target: str = "/api/v1/namespaces/a/pods/b", method: str = "GET") -> RequestInfo:
    path, _, query = target.partition("?")
    return parse_request_info(method, path, parse_query(query))


def new_call(target: str = "/api/v1/namespaces/a/pods/b", method: str = "GET") -> Call:
    request: Any = None  # nobody looks at it here
    call = Call(request, 0.0)
    call.info = new_info(target, method)
    call.params = parse_query(target.partition("?")[2])
    call.user = User(name="someone")
    return call


@pytest.fixture
def info() -> Callable[..., RequestInfo]:
    return new_info


@pytest.fixture
def hall() -> Callable[[Queuing, int], Hall]:
    return Hall
