"""One request on an HTTP/1.1 connection, and its answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from kapi.wire.body import RequestBody
from kapi.wire.framing import has_no_body
from kapi.wire.h1.encode import content_length, encode_head
from kapi.wire.h1.stream import ResponseStream
from kapi.wire.messages import ClientGone, Connection, Headers, Response, text

if TYPE_CHECKING:
    from kapi.wire.h1.connection import H1Connection
    from kapi.wire.h1.head import HeadParser


class Exchange:
    """Satisfies `Request`. `whole` turns true when the client has everything that it was promised."""

    __slots__ = (
        "_begun",
        "_callbacks",
        "_http10",
        "_owner",
        "_stream",
        "connection",
        "headers",
        "incoming",
        "keep_alive",
        "method",
        "path",
        "protocol",
        "query",
        "task",
        "whole",
    )

    def __init__(self, connection: H1Connection, head: HeadParser, incoming: RequestBody | None) -> None:
        self.connection: Connection = connection
        self._owner = connection
        self.method = head.method
        self.path = head.path
        self.query = head.query
        self.headers = Headers(head.headers)
        self.protocol = "HTTP/1.0" if head.http10 else "HTTP/1.1"
        self.keep_alive = head.keep_alive
        self.incoming = incoming
        self.task: asyncio.Task[None] | None = None
        self.whole = False
        self._http10 = head.http10
        self._begun = False
        self._stream: ResponseStream | None = None
        self._callbacks: list[Callable[[], None]] | None = None

    async def body(self, limit: int) -> bytes:
        return b"" if self.incoming is None else await self.incoming.read(limit)

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        if self._owner.client_left:
            self._owner.service.loop.call_soon(callback)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def disconnected(self) -> None:
        """The client sends no more: as good as gone for a stream, though an answer it may still read."""
        if self._stream is not None:
            self._stream.closed = True
        callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            self._owner.service.loop.call_soon(callback)

    def lose(self) -> None:
        """The connection is gone."""
        if self.incoming is not None:
            self.incoming.lose()
        self.disconnected()

    async def run(self) -> None:
        connection = self._owner
        service = connection.service
        try:
            response = await service.handler(self)
            if response.upgrade is not None:
                await self._upgrade(response)
            elif response.stream is None:
                self._send(response)
            else:
                await self._send_stream(response)
        except ClientGone:
            pass
        except Exception as error:
            service.log.error("request_failed", method=self.method, path=self.path, error=repr(error))
            if not self._begun:
                self.keep_alive = False
                self._send(text(500, "Internal Server Error\n"))
        finally:
            service.ended(self)
            connection.finished(self)

    def _send(self, response: Response) -> None:
        body = response.body
        if has_no_body(response.status):
            length, body = b"", b""
        elif self.method == "HEAD":
            length, body = self._announced(response) or content_length(len(body)), b""
        else:
            length = content_length(len(body))
        head = self._head(response, length)
        transport = self._owner.transport
        if len(body) < 65536:
            transport.write(head + body)
        else:
            transport.writelines((head, body))
        self.whole = True

    async def _send_stream(self, response: Response) -> None:
        assert response.stream is not None
        connection = self._owner
        bare = self.method == "HEAD" or has_no_body(response.status)
        announced = self._announced(response)
        chunked = not self._http10 and not announced
        if self._http10 and not announced:
            self.keep_alive = False
        framing = b"" if has_no_body(response.status) else announced or (b"\r\nTransfer-Encoding: chunked" * chunked)
        connection.transport.write(self._head(response, framing))
        if bare:
            # The stream is never begun: it could wait for events that nobody would see.
            self.whole = True
            return
        self._stream = stream = ResponseStream(connection, chunked=chunked)
        stream.closed = connection.lost
        await response.stream(stream)
        stream.end()
        self.whole = not announced or content_length(stream.written) == announced

    async def _upgrade(self, response: Response) -> None:
        assert response.upgrade is not None
        connection = self._owner
        self.keep_alive = False
        head = encode_head(response.status, response.headers, connection.service.date, b"", upgrade=True)
        self._begun = True
        raw = connection.hand_over(head)
        await response.upgrade(raw)
        self.whole = True

    def _head(self, response: Response, framing: bytes) -> bytes:
        connection = self._owner
        if connection.lost:
            raise ClientGone("the client closed the connection")
        self._begun = True
        unread = self.incoming is not None and not self.incoming.complete
        if not self.keep_alive or unread or connection.closing or connection.service.draining:
            self.keep_alive = False
            framing += b"\r\nConnection: close"
        elif self._http10:
            framing += b"\r\nConnection: keep-alive"
        return encode_head(response.status, response.headers, connection.service.date, framing, http10=self._http10)

    def _announced(self, response: Response) -> bytes:
        """The length that the handler itself announces, as a header line; empty when it does not."""
        for name, value in response.headers:
            if name == b"content-length" and value.isdigit():
                return content_length(int(value))
        return b""
