"""Request bodies on their way from the socket to the handler, the same for every protocol.

The connection pushes what arrives; the handler reads it whole, up to its own limit. The bytes of many small
pieces are kept in one buffer, so that a body costs its length and no more.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kapi.wire.messages import BodyTooLarge, ClientGone


class RequestBody:
    """`want` is called whenever a reader waits for more: the place for 100 Continue and for flow-control credit."""

    __slots__ = ("_data", "_expected", "_gone", "_waiter", "_want", "complete")

    def __init__(self, expected: int, want: Callable[[], None]) -> None:
        self._data: bytes | bytearray = b""
        self._expected = expected  # -1 when the client did not say
        self._want = want
        self._waiter: asyncio.Future[None] | None = None
        self._gone = False
        self.complete = False

    def __len__(self) -> int:
        return len(self._data)

    def push(self, piece: bytes) -> None:
        if not self._data:
            self._data = piece
        elif isinstance(self._data, bytearray):
            self._data += piece
        else:
            self._data = bytearray(self._data)
            self._data += piece
        self._wake()

    def end(self) -> None:
        self.complete = True
        self._wake()

    def lose(self) -> None:
        """The client left before the body was complete."""
        self._gone = True
        self._wake()

    async def read(self, limit: int) -> bytes:
        if self._expected > limit:
            raise BodyTooLarge
        while not self.complete:
            if self._gone:
                raise ClientGone("the client left before its request was complete")
            if len(self._data) > limit:
                raise BodyTooLarge
            self._want()
            self._waiter = asyncio.get_running_loop().create_future()
            await self._waiter
        if len(self._data) > limit:
            raise BodyTooLarge
        if isinstance(self._data, bytearray):
            self._data = bytes(self._data)
        return self._data

    def _wake(self) -> None:
        waiter = self._waiter
        if waiter is not None and not waiter.done():
            waiter.set_result(None)
