"""An HTTP/2 client for the process tests: many streams on one connection, and it goes on after GOAWAY."""

from __future__ import annotations

import asyncio
import ssl
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import pytest
from jh2._hazmat import Decoder, Encoder

DATA, HEADERS, RST_STREAM, SETTINGS, PING, GOAWAY, WINDOW_UPDATE = 0, 1, 3, 4, 6, 7, 8
REFUSED_STREAM = 7
END_STREAM, ACK, END_HEADERS = 1, 1, 4

Stream = asyncio.Queue["bytes | None"]


class H2Client:
    """`open` starts a request; its queue gets the status, then the data, then None at a clean end.

    What else may come is RESET, LOST when the connection ended, and REFUSED when the server said that it did not and
    will not look at the request.
    """

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer
        self._encoder, self._decoder = Encoder(), Decoder(1 << 20)
        self._streams: dict[int, Stream] = {}
        self._next = 1
        self._last_served = (1 << 31) - 1
        self.gone_away = False
        writer.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        self._send(SETTINGS, 0, 0)

    def open(self, path: str) -> Stream:
        fields = {":method": "GET", ":scheme": "https", ":authority": "localhost", ":path": path}
        block = self._encoder.encode([(name.encode(), value.encode(), False) for name, value in fields.items()])
        number, self._next = self._next, self._next + 2
        self._streams[number] = queue = asyncio.Queue()
        self._send(HEADERS, END_STREAM | END_HEADERS, number, block)
        return queue

    async def read(self) -> None:
        """Until the connection ends."""
        try:
            while True:
                head = await self._reader.readexactly(9)
                payload = await self._reader.readexactly(int.from_bytes(head[:3], "big"))
                self._take(head[3], head[4], int.from_bytes(head[5:], "big"), payload)
        finally:
            for number, queue in self._streams.items():
                queue.put_nowait(b"LOST" if number <= self._last_served else b"REFUSED")

    def _take(self, kind: int, flags: int, number: int, payload: bytes) -> None:
        if kind in (PING, SETTINGS) and not flags & ACK:
            self._send(kind, ACK, 0, payload if kind == PING else b"")
        elif kind == GOAWAY:
            self.gone_away = True
            self._last_served = int.from_bytes(payload[:4], "big")
        elif kind == RST_STREAM:
            refused = int.from_bytes(payload, "big") == REFUSED_STREAM
            self._streams.pop(number).put_nowait(b"REFUSED" if refused else b"RESET")
        elif kind == HEADERS:
            fields = {name: value for name, value, _ in self._decoder.decode(payload, True)}
            self._streams[number].put_nowait(fields[b":status"])
        elif kind == DATA and payload:
            self._send(WINDOW_UPDATE, 0, 0, len(payload).to_bytes(4, "big"))
            self._streams[number].put_nowait(payload)
        if kind in (DATA, HEADERS) and flags & END_STREAM:
            self._streams.pop(number).put_nowait(None)

    def _send(self, kind: int, flags: int, number: int, payload: bytes = b"") -> None:
        self._writer.write(len(payload).to_bytes(3, "big") + bytes((kind, flags)) + number.to_bytes(4, "big") + payload)


@pytest.fixture
def h2_client() -> Callable[[int, ssl.SSLContext], AbstractAsyncContextManager[H2Client]]:
    @asynccontextmanager
    async def connect(port: int, context: ssl.SSLContext) -> AsyncIterator[H2Client]:
        reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=context)
        client = H2Client(reader, writer)
        reading = asyncio.create_task(client.read())
        try:
            yield client
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
            writer.transport.abort()

    return connect
