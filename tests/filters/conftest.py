"""Requests and calls in memory, for filters that are tested without a socket."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kapi.api.call import Call
from kapi.api.request_info import parse_query, parse_request_info
from kapi.api.user import User
from kapi.filters.handler import CallHandler
from kapi.filters.receive import complete
from kapi.filters.request_info import is_long_running
from kapi.wire.messages import Headers, Response


class FakeConnection:
    remote = ("192.0.2.7", 4711)
    secure = True

    def __init__(self) -> None:
        self.identity: Any = None
        self.going_away = False
        self.certificate: bytes | None = None

    def peer_certificate(self) -> bytes | None:
        return self.certificate

    def go_away(self) -> None:
        self.going_away = True


class FakeRequest:
    def __init__(self, method: str, target: str, headers: dict[str, str], protocol: str) -> None:
        self.method = method
        self.path, _, self.query = target.partition("?")
        self.headers = Headers([(k.lower().encode(), v.encode()) for k, v in headers.items()])
        self.connection = FakeConnection()
        self.protocol = protocol
        self.callbacks: list[Callable[[], None]] = []

    async def body(self, limit: int) -> bytes:
        return b""

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        self.callbacks.append(callback)

    def disconnect(self) -> None:
        for callback in self.callbacks:
            callback()


class FakeClock:
    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def new_request() -> Callable[..., FakeRequest]:
    def make(
        target: str = "/api/v1/pods", method: str = "GET", protocol: str = "HTTP/1.1", **headers: str
    ) -> FakeRequest:
        return FakeRequest(method, target, {k.replace("_", "-"): v for k, v in headers.items()}, protocol)

    return make


@pytest.fixture
def new_call(new_request: Callable[..., FakeRequest]) -> Callable[..., Call]:
    """A call as the filters above have left it: parsed, from a user."""

    def make(
        target: str = "/api/v1/pods",
        method: str = "GET",
        *,
        user: User | None = None,
        received: float = 0.0,
        **more: str,
    ) -> Call:
        request = new_request(target, method, **more)
        call = Call(request, received)
        call.params = parse_query(request.query)
        call.info = parse_request_info(method, request.path, call.params)
        call.long_running = is_long_running(call.info)
        call.user = user or User(name="alice", groups=("dev",))
        return call

    return make


@pytest.fixture
def ok() -> Callable[[Call], Awaitable[Response]]:
    async def handle(call: Call) -> Response:
        return Response(200, [], b"ok")

    return handle


@pytest.fixture
def run() -> Callable[[Awaitable[Any]], Any]:
    """Await one thing in a loop of its own."""

    def go(awaitable: Awaitable[Any]) -> Any:
        async def main() -> Any:
            return await awaitable

        return asyncio.run(main())

    return go


@pytest.fixture
def answer(run: Callable[[Awaitable[Any]], Any]) -> Callable[[CallHandler, Call], Response]:
    """The answer to a call as it leaves the chain, with what filters want in it."""

    def go(handle: CallHandler, call: Call) -> Response:
        response: Response = run(handle(call))
        complete(call, response)
        return response

    return go
