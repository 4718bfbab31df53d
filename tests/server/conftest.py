"""Servers in process, and servers on real ports."""

from __future__ import annotations

import asyncio
import io
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from kapi.api.user import User
from kapi.server.config import GenericConfig
from kapi.server.version import version_info
from kapi.telemetry.instruments import Instruments
from kapi.telemetry.log import Log
from kapi.wire.messages import Headers, Response


class FakeClock:
    def __init__(self) -> None:
        self.time = 1_700_000_000.0

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


class FakeConnection:
    remote = ("192.0.2.7", 4711)
    secure = True

    def __init__(self) -> None:
        self.identity: Any = None
        self.going_away = False

    def peer_certificate(self) -> bytes | None:
        return None

    def go_away(self) -> None:
        self.going_away = True


class FakeRequest:
    protocol = "HTTP/1.1"

    def __init__(self, target: str, method: str, headers: dict[str, str]) -> None:
        self.method = method
        self.path, _, self.query = target.partition("?")
        self.headers = Headers([(k.lower().encode(), v.encode()) for k, v in headers.items()])
        self.connection = FakeConnection()

    async def body(self, limit: int) -> bytes:
        return b""

    def on_disconnect(self, callback: Callable[[], None]) -> None: ...


class Everyone:
    """Authenticates everybody as the same user."""

    def __init__(self, user: User) -> None:
        self.user = user

    def at_once(self, call: Any) -> User | None:
        return None

    async def authenticate(self, call: Any) -> User:
        return self.user


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def log() -> Log:
    return Log(io.StringIO())


@pytest.fixture
def new_config(log: Log) -> Callable[..., GenericConfig]:
    def make(**more: Any) -> GenericConfig:
        more.setdefault("authenticator", Everyone(User(name="alice", groups=("dev",))))
        return GenericConfig(instruments=Instruments.create(version_info(), log), **more)

    return make


@pytest.fixture
def ask() -> Callable[..., Response]:
    """One request to a server's whole chain, in process."""

    def go(server: Any, target: str, method: str = "GET", **headers: str) -> Response:
        async def main() -> Response:
            response: Response = await server.prepare_run().handler(FakeRequest(target, method, headers))
            return response

        return asyncio.run(main())

    return go


@pytest.fixture
def fetch() -> Callable[..., Awaitable[tuple[int, bytes]]]:
    """One request over a real connection that is closed afterwards: status and the rest."""

    async def go(port: int, target: str) -> tuple[int, bytes]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(f"GET {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
        answer = await reader.read()
        writer.close()
        await writer.wait_closed()
        return int(answer.split()[1]), answer.partition(b"\r\n\r\n")[2]

    return go
