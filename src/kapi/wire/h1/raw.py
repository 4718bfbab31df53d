"""The connection after 101 Switching Protocols: bytes both ways, with backpressure both ways."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from kapi.wire.messages import ClientGone

if TYPE_CHECKING:
    from kapi.wire.h1.connection import H1Connection

_READ_HIGH = 256 * 1024


class RawConnection:
    """Satisfies `RawStream`. `already` is what the client sent right after its request."""

    __slots__ = ("_buffer", "_connection", "_ended", "_waiter")

    def __init__(self, connection: H1Connection, already: bytes) -> None:
        self._connection = connection
        self._buffer = bytearray(already)
        self._ended = False
        self._waiter: asyncio.Future[None] | None = None

    def feed(self, data: bytes) -> None:
        self._buffer += data
        if len(self._buffer) > _READ_HIGH:
            self._connection.stop_reading()
        self._wake()

    def feed_end(self) -> None:
        self._ended = True
        self._wake()

    async def read(self) -> bytes:
        while not self._buffer and not self._ended:
            self._waiter = self._connection.service.loop.create_future()
            await self._waiter
        data = bytes(self._buffer)
        self._buffer.clear()
        self._connection.start_reading()
        return data

    async def write(self, data: bytes) -> None:
        connection = self._connection
        if connection.lost or connection.transport.is_closing():
            raise ClientGone("the client closed the connection")
        connection.transport.write(data)
        if not connection.writable:
            await connection.wait_writable()

    async def close(self) -> None:
        self._connection.transport.close()

    def _wake(self) -> None:
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
