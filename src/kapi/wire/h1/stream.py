"""A response body while it is sent on HTTP/1.1: writes of one loop turn leave together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi.wire.messages import ClientGone

if TYPE_CHECKING:
    from kapi.wire.h1.connection import H1Connection

_JOIN_LIMIT = 64 * 1024


class ResponseStream:
    """Chunked, or plain bytes where the length is announced or the end of the connection ends the body."""

    __slots__ = ("_chunked", "_connection", "_pending", "_pending_size", "_scheduled", "closed", "written")

    def __init__(self, connection: H1Connection, *, chunked: bool) -> None:
        self._connection = connection
        self._chunked = chunked
        self._pending: list[bytes] = []
        self._pending_size = 0
        self._scheduled = False
        self.closed = False
        self.written = 0

    @property
    def buffered(self) -> int:
        return self._pending_size + self._connection.transport.get_write_buffer_size()

    def write_nowait(self, data: bytes) -> None:
        size = len(data)
        if self.closed or not size:
            return
        if self._chunked:
            self._pending += (b"%x\r\n" % size, data, b"\r\n")
        else:
            self._pending.append(data)
        self.written += size
        self._pending_size += size
        if not self._scheduled:
            self._scheduled = True
            self._connection.service.loop.call_soon(self.flush)

    async def write(self, data: bytes) -> None:
        if self.closed:
            raise ClientGone("the client closed the connection")
        self.write_nowait(data)
        if self._pending_size >= _JOIN_LIMIT:
            self.flush()
        if not self._connection.writable:
            await self._connection.wait_writable()

    def end(self) -> None:
        """The last bytes; without them a client knows that the body is not whole."""
        if self._chunked:
            self._pending.append(b"0\r\n\r\n")
        self.flush()

    def flush(self) -> None:
        self._scheduled = False
        pending = self._pending
        if pending and not self.closed:
            if self._pending_size < _JOIN_LIMIT:
                self._connection.transport.write(b"".join(pending))
            else:
                self._connection.transport.writelines(pending)
        self._pending = []
        self._pending_size = 0
