"""One stream: a request, its answer, and how much of either the peer may send or take.

A stream is both the `Request` and, once a handler streams, the `BodyStream`: a watch with many streams on one
connection pays for one object each.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from kapi.wire.body import RequestBody
from kapi.wire.framing import has_no_body
from kapi.wire.h2.fields import RequestFields
from kapi.wire.h2.frames import INTERNAL_ERROR
from kapi.wire.h2.hpack import CONTINUE, encode_head
from kapi.wire.messages import ClientGone, Connection, Headers, Response, text

if TYPE_CHECKING:
    from kapi.wire.h2.connection import H2Connection

_QUEUE_HIGH = 256 * 1024
_FLUSH_NOW = 32 * 1024


class Stream:
    """`closed`: the client reset it or is gone. `ending`: our END_STREAM is sent or queued."""

    __slots__ = (
        "_begun",
        "_callbacks",
        "_expect",
        "_owner",
        "_waiter",
        "closed",
        "connection",
        "ending",
        "headers",
        "incoming",
        "length",
        "method",
        "outbox",
        "path",
        "query",
        "queue",
        "queued",
        "received",
        "sid",
        "stalled",
        "task",
        "uncredited",
        "window",
    )

    protocol = "HTTP/2.0"

    def __init__(self, connection: H2Connection, sid: int, fields: RequestFields, *, has_body: bool) -> None:
        self.connection: Connection = connection
        self._owner = connection
        self.outbox = connection.outbox
        self.sid = sid
        self.method = fields.method
        self.path = fields.path
        self.query = fields.query
        self.headers = Headers(fields.headers)
        self.length = fields.length
        self.incoming = RequestBody(fields.length, self._want_body) if has_body else None
        self.received = 0
        self.uncredited = 0
        self.window = self.outbox.initial_window
        self.queue: deque[memoryview] | None = None
        self.queued = 0
        self.ending = False
        self.closed = False
        self.stalled = 0.0
        self.task: asyncio.Task[None] | None = None
        self._begun = False
        self._expect = fields.expect
        self._waiter: asyncio.Future[None] | None = None
        self._callbacks: list[Callable[[], None]] | None = None

    @property
    def buffered(self) -> int:
        return self.queued + self._owner.transport.get_write_buffer_size()

    async def body(self, limit: int) -> bytes:
        return b"" if self.incoming is None else await self.incoming.read(limit)

    def on_disconnect(self, callback: Callable[[], None]) -> None:
        if self.closed:
            self._owner.service.loop.call_soon(callback)
        elif self._callbacks is None:
            self._callbacks = [callback]
        else:
            self._callbacks.append(callback)

    def write_nowait(self, data: bytes) -> None:
        if data and not self.closed and not self.ending:
            self.outbox.data(self, data, end=False)

    async def write(self, data: bytes) -> None:
        self.write_nowait(data)
        if len(data) >= _FLUSH_NOW:
            self.outbox.flush()
        while (self.queued > _QUEUE_HIGH or self.outbox.full) and not self.closed:
            if self.outbox.full:
                await self._owner.wait_writable()
            else:
                self._waiter = self._owner.service.loop.create_future()
                await self._waiter
        if self.closed:
            raise ClientGone("the client closed the stream")

    async def run(self) -> None:
        connection = self._owner
        service = connection.service
        try:
            # A stream reset before its turn came costs nothing more.
            if not self.closed:
                response = await service.handler(self)
                await self._send(response)
        except ClientGone:
            pass
        except Exception as error:
            service.log.error("request_failed", method=self.method, path=self.path, error=repr(error))
            if not self._begun and not self.closed:
                await self._send(text(500, "Internal Server Error\n"))
        finally:
            service.ended(self)
            connection.handler_ended(self)
            if not self.closed and not self.ending:
                connection.reset(self.sid, INTERNAL_ERROR)

    async def _send(self, response: Response) -> None:
        if response.upgrade is not None:
            raise RuntimeError("HTTP/2 streams cannot be upgraded")
        if self.closed:
            return
        self._begun = True
        status, headers, body = response.status, response.headers, response.body
        date = self._owner.service.date
        if has_no_body(status):
            self._finish_with_head(encode_head(status, headers, date))
        elif response.stream is not None:
            head = encode_head(status, headers, date)
            if self.method == "HEAD":
                self._finish_with_head(head)
                return
            self.outbox.head(self.sid, head, end=False)
            await response.stream(self)
            if not self.closed:
                self.outbox.data(self, b"", end=True)
        elif self.method == "HEAD":
            announced = not body and any(name == b"content-length" for name, _ in headers)
            self._finish_with_head(encode_head(status, headers, date, -1 if announced else len(body)))
        else:
            self.outbox.answer(self, encode_head(status, headers, date, len(body)), body)

    def _finish_with_head(self, block: bytes) -> None:
        self.ending = True
        self.outbox.head(self.sid, block, end=True)
        self.sent()

    def sent(self) -> None:
        """Our END_STREAM is on its way: nothing more to say."""
        self._callbacks = None
        self._owner.answered(self)

    def moved(self) -> None:
        """The queue moved."""
        self.stalled = self._owner.service.now
        if self.queued <= _QUEUE_HIGH and self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)

    def lose(self) -> None:
        """The stream is over before its time."""
        self.closed = True
        self.queue = None
        self.queued = 0
        if self.incoming is not None:
            self.incoming.lose()
        if self._waiter is not None and not self._waiter.done():
            self._waiter.set_result(None)
        callbacks, self._callbacks = self._callbacks, None
        for callback in callbacks or ():
            self._owner.service.loop.call_soon(callback)

    def _want_body(self) -> None:
        if self._expect:
            self._expect = False
            if not self.received and not self._begun:
                self.outbox.head(self.sid, CONTINUE, end=False)
        self._owner.credit(self)
