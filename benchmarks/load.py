"""The load: keep-alive clients that ask one thing after the other, and watchers that wait for events."""

from __future__ import annotations

import asyncio
import json
import ssl
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from target import Target

NAMESPACE = "/api/v1/namespaces/default"
MAPS = f"{NAMESPACE}/configmaps"
JSON = "application/json"


@dataclass(frozen=True, slots=True)
class Ask:
    """A request, and the status of its answer."""

    method: str
    path: str
    body: bytes = b""
    media_type: str = JSON
    accept: str = JSON
    status: int = 200

    def encode(self) -> bytes:
        head = f"{self.method} {self.path} HTTP/1.1\r\nHost: localhost\r\nAccept: {self.accept}\r\n"
        if self.body:
            head += f"Content-Type: {self.media_type}\r\nContent-Length: {len(self.body)}\r\n"
        return f"{head}\r\n".encode() + self.body


class Connection:
    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    @classmethod
    async def open(cls, target: Target, context: ssl.SSLContext) -> Connection:
        return cls(*await asyncio.open_connection("127.0.0.1", target.port, ssl=context, limit=1 << 26))

    async def ask(self, ask: Ask) -> bytes:
        await self.begin(ask)
        if self._length is not None:
            return await self._reader.readexactly(self._length)
        body = b""
        while piece := await self.chunk():
            body += piece
        return body

    async def try_slowly(self, ask: Ask, seconds: float) -> int:
        """Send its body only after so many seconds; the status of the answer."""
        message = ask.encode()
        self._writer.write(message[: -len(ask.body)])
        if seconds:
            await asyncio.sleep(seconds)
        self._writer.write(ask.body)
        status = await self._head()
        await self._reader.readexactly(self._length or 0)
        return status

    async def begin(self, ask: Ask) -> None:
        """Send it and read the head of the answer."""
        self._writer.write(ask.encode())
        status = await self._head()
        if status != ask.status:
            raise RuntimeError(f"{ask.method} {ask.path}: {status}")

    async def _head(self) -> int:
        head = (await self._reader.readuntil(b"\r\n\r\n")).lower()
        _, found, rest = head.partition(b"content-length: ")
        self._length = int(rest.partition(b"\r\n")[0]) if found else None
        return int(head[9:12])

    async def chunk(self) -> bytes:
        size = int(await self._reader.readuntil(b"\r\n"), 16)
        return (await self._reader.readexactly(size + 2))[:-2]

    def close(self) -> None:
        self._writer.transport.abort()


@dataclass(frozen=True, slots=True)
class Figures:
    """What so many operations took."""

    operations: int
    seconds: float
    cpu_seconds: float

    @property
    def cpu_microseconds(self) -> float:
        return self.cpu_seconds / self.operations * 1e6


def config_map(name: str, value: str = "x") -> bytes:
    """About a kilobyte."""
    data = {f"key-{number}": value * 48 for number in range(12)}
    return json.dumps({"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name}, "data": data}).encode()


@contextmanager
def measured(target: Target) -> Iterator[Callable[[int], Figures]]:
    """Gives a function from the number of operations to the figures, from here to its call."""
    cpu, began = target.cpu_seconds(), time.perf_counter()
    yield lambda operations: Figures(operations, time.perf_counter() - began, target.cpu_seconds() - cpu)


async def hammer(target: Target, ask: Callable[[int, int], Ask], clients: int, seconds: float) -> Figures:
    """`ask(client, turn)` says what each client asks next."""
    context = target.context()
    connections = [await Connection.open(target, context) for _ in range(clients)]

    async def one(number: int, connection: Connection) -> int:
        turn = 0
        while time.perf_counter() < end:
            await connection.ask(ask(number, turn))
            turn += 1
        return turn

    with measured(target) as figures:
        end = time.perf_counter() + seconds
        turns = await asyncio.gather(*(one(number, connection) for number, connection in enumerate(connections)))
        result = figures(sum(turns))
    for connection in connections:
        connection.close()
    return result


async def fan_out(target: Target, watchers: int, events: int) -> Figures:
    """Operations are events times watchers; the cost of the writes themselves is part of it."""
    context = target.context()
    connections = [await Connection.open(target, context) for _ in range(watchers + 1)]
    writer, listening = connections[0], connections[1:]
    selector = "fieldSelector=metadata.name%3Dfan-out"
    for connection in listening:
        await connection.begin(Ask("GET", f"{MAPS}?watch=true&{selector}"))

    async def follow(connection: Connection) -> None:
        seen = 0
        while seen < events:
            seen += (await connection.chunk()).count(b'"type":"')

    async def write() -> None:
        await writer.ask(Ask("POST", MAPS, config_map("fan-out"), status=201))
        for number in range(events - 1):
            await writer.ask(Ask("PUT", f"{MAPS}/fan-out", config_map("fan-out", str(number % 10))))

    with measured(target) as figures:
        await asyncio.gather(write(), *map(follow, listening))
        result = figures(events * watchers)
    for connection in connections:
        connection.close()
    return result


async def fill(target: Target, count: int) -> None:
    """Objects to list, in a namespace of their own."""
    context, path = target.context(), "/api/v1/namespaces/kube-public/configmaps"

    async def one(start: int) -> None:
        connection = await Connection.open(target, context)
        for number in range(start, count, 8):
            await connection.ask(Ask("POST", path, config_map(f"item-{number:05}"), status=201))
        connection.close()

    await asyncio.gather(*map(one, range(8)))
