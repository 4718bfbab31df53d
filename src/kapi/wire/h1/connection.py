"""The HTTP/1.1 connection: one request after the other, in the order they came.

What follows a request stays unparsed until its answer is complete; that is all there is to pipelining. A message
whose end is in doubt ends the connection.
"""

from __future__ import annotations

import asyncio
import re
from math import inf

from kapi.wire.body import RequestBody
from kapi.wire.connection import BaseConnection
from kapi.wire.h1.chunked import BadChunk, ChunkedDecoder
from kapi.wire.h1.encode import CONTINUE, encode_refusal
from kapi.wire.h1.exchange import Exchange
from kapi.wire.h1.head import BadHead, HeadParser
from kapi.wire.h1.raw import RawConnection
from kapi.wire.service import Service

_AHEAD_LIMIT = 64 * 1024  # bytes read beyond the request under way
_BODY_HIGH = 256 * 1024
# So that a client that is still sending reads the answer before it sees the connection end; as Go's server.
_LINGER = 0.5
# A client that asks one thing after the other has its next request on the way when it is told to go: that one is
# answered, and the answer says that it was the last.
_LAST_CALL = 0.2
_LINE_ENDS = b"\r\n"
_PLAUSIBLE_START = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+(?:\Z| [^\r\n]*(?:\Z|\r\Z|\r\n))").match


class H1Connection(BaseConnection):
    """Satisfies `Connection`."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self.closing = False
        self.client_left = False
        self._head = HeadParser()
        self._buffer: bytes | bytearray = b""
        self._scanned = 0
        self._active: Exchange | None = None
        self._body: RequestBody | None = None  # still arriving
        self._body_left = 0
        self._chunks: ChunkedDecoder | None = None
        self._continue = False
        self._raw: RawConnection | None = None
        self._discarding = False
        self._deadline = service.now + service.limits.header_timeout

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self.client_left = True
        if self._raw is not None:
            self._raw.feed_end()
        if self._active is not None:
            self._active.lose()

    def eof_received(self) -> bool:
        if self._raw is not None:
            self._raw.feed_end()
        elif self._active is None:
            return False
        else:
            self.client_left = True
            if self._body is not None:
                self._body.lose()
            self._active.disconnected()
        # A client may close its sending side and still read; TLS has no such half.
        return not self.secure

    def data_received(self, data: bytes) -> None:
        if self._raw is not None:
            self._raw.feed(data)
            return
        if self._discarding:
            return
        if self._body is not None:
            data = self._take_body(self._body, data)
            if not data:
                return
        if not self._buffer:
            self._buffer = data
        elif isinstance(self._buffer, bytearray):
            self._buffer += data
        else:
            self._buffer = bytearray(self._buffer) + data
        if self._active is None:
            self._next()
        elif len(self._buffer) > _AHEAD_LIMIT:
            self.stop_reading()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._active is None and self._buffer:
            self._next()

    def check(self, now: float) -> None:
        super().check(now)
        if now > self._deadline:
            self.transport.abort()

    def go_away(self) -> None:
        self.closing = True
        if self._active is None:
            self._last_call()

    def hand_over(self, head: bytes) -> RawConnection:
        """Switch protocols: from here on the bytes are the handler's."""
        self.transport.write(head)
        self._raw = RawConnection(self, bytes(self._buffer))
        self._buffer = b""
        self.start_reading()
        return self._raw

    def finished(self, exchange: Exchange) -> None:
        """The answer is written, or its handler gave up."""
        self._active = None
        if self.lost:
            return
        if not exchange.whole:
            self.transport.abort()
        elif not exchange.keep_alive or self.client_left:
            self._end()
        elif self._buffer:
            self.start_reading()
            # Not at once: answers that need no waiting would pile up on the stack.
            self.service.loop.call_soon(self._next)
        elif self.closing or self.service.draining:
            self._last_call()
        else:
            self._deadline = self.service.now + self.service.limits.idle_timeout

    def _next(self) -> None:
        """Begin the next request if its head is there, and the client takes its answers."""
        if not self.writable or self._active is not None or self.lost:
            return
        buffer = self._buffer
        if buffer[:1] in _LINE_ENDS and not self._scanned:
            # Some clients end a body with one line end too many.
            buffer = self._buffer = buffer.lstrip(_LINE_ENDS)
            if not buffer:
                return
        end = buffer.find(b"\r\n\r\n", self._scanned - 3 if self._scanned > 3 else 0)
        if end < 0:
            self._wait_for_head()
            return
        end += 4
        self._scanned = 0
        limit = self.service.limits.header_bytes
        head = bytes(buffer[:end])
        self._buffer = b"" if end == len(buffer) else bytes(buffer[end:])
        try:
            if len(head) > limit:
                raise BadHead(431)
            self._head.parse(head)
        except BadHead as error:
            self._refuse(error.status, error.detail)
            return
        self._begin()

    def _begin(self) -> None:
        head = self._head
        self._deadline = inf
        incoming = None
        if head.length > 0 or head.chunked:
            incoming = self._body = RequestBody(-1 if head.chunked else head.length, self._want_body)
            self._body_left = head.length
            self._chunks = ChunkedDecoder() if head.chunked else None
            self._continue = head.expect
            rest, self._buffer = bytes(self._buffer), b""
            if rest:
                self._buffer = self._take_body(incoming, rest)
                if self._discarding:
                    return
        self._active = exchange = Exchange(self, head, incoming)
        self.service.start(exchange)

    def _wait_for_head(self) -> None:
        buffer = self._buffer
        if len(buffer) > self.service.limits.header_bytes:
            self._refuse(431)
        elif not _PLAUSIBLE_START(buffer):
            self._refuse(400)
        elif not self._scanned:
            self._deadline = self.service.now + self.service.limits.header_timeout
        self._scanned = len(buffer)

    def _take_body(self, body: RequestBody, data: bytes) -> bytes:
        """Give the body its part of the data; return what follows it."""
        self._continue = False
        if self._chunks is None:
            left = self._body_left
            piece, rest = (data, b"") if len(data) <= left else (data[:left], data[left:])
            self._body_left -= len(piece)
            body.push(piece)
            done = not self._body_left
        else:
            try:
                pieces, rest = self._chunks.feed(data)
            except BadChunk:
                self._broken_body(body)
                return b""
            for piece in pieces:
                body.push(piece)
            done = self._chunks.done
        if done:
            self._body = None
            body.end()
        elif len(body) > _BODY_HIGH:
            self.stop_reading()
        return rest

    def _broken_body(self, body: RequestBody) -> None:
        """Before the handler began, the client hears why; later its answer would be a guess."""
        self._body = None
        if self._active is None:
            self._refuse(400)
            return
        self.client_left = True
        body.lose()
        self._active.keep_alive = False
        self._discarding = True

    def _want_body(self) -> None:
        if self._continue:
            self._continue = False
            self.transport.write(CONTINUE)
        self.start_reading()

    def _refuse(self, status: int, detail: str = "") -> None:
        self.transport.write(encode_refusal(status, detail))
        self._discarding = True
        self._buffer = b""
        self._end(linger=True)

    def _last_call(self) -> None:
        """Close, unless a request comes first."""
        self.service.loop.call_later(_LAST_CALL, self._close_if_idle)

    def _close_if_idle(self) -> None:
        if self._active is None and not self._buffer:
            self.transport.close()

    def _end(self, *, linger: bool = False) -> None:
        if linger or self._body is not None or self._buffer:
            self._discarding = True
            self._buffer = b""
            self._deadline = inf
            self.start_reading()
            self.service.loop.call_later(_LINGER, _close, self.transport)
        else:
            self.transport.close()


def _close(transport: asyncio.Transport) -> None:
    transport.close()
