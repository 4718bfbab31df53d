"""Sending: frames in order, within the peer's windows, one write to the transport per turn of the loop.

What a stream may not send yet waits in the stream's own queue; streams that wait take turns, so that a long list
does not hold up a watch on the same connection.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kapi.wire.h2.frames import (
    CONTINUATION,
    DATA,
    DEFAULT_MAX_FRAME,
    DEFAULT_WINDOW,
    END_HEADERS,
    END_STREAM,
    FLOW_CONTROL_ERROR,
    HEADERS,
    INITIAL_WINDOW_SIZE,
    MAX_FRAME_SIZE,
    MAX_WINDOW,
    ConnectionFault,
    StreamFault,
    frame,
    pack_header,
)

if TYPE_CHECKING:
    from kapi.wire.h2.stream import Stream

_FLUSH_SIZE = 256 * 1024
_TURN_SIZE = 256 * 1024
_CONTROL_LIMIT = 1000
_FRAME_LIMIT = 64 * 1024  # larger ones gain nothing and delay the other streams


class Outbox:
    """One per connection. `full` mirrors the transport: while it is true, bodies wait."""

    __slots__ = (
        "_control",
        "_frames",
        "_loop",
        "_scheduled",
        "_transport",
        "_unflushed",
        "full",
        "initial_window",
        "max_frame",
        "waiting",
        "window",
    )

    def __init__(self, transport: asyncio.Transport, loop: asyncio.AbstractEventLoop) -> None:
        self._transport = transport
        self._loop = loop
        self._frames: list[bytes | memoryview] = []
        self._scheduled = False
        self._control = 0
        self._unflushed = 0
        self.full = False
        self.window = DEFAULT_WINDOW
        self.initial_window = DEFAULT_WINDOW
        self.max_frame = DEFAULT_MAX_FRAME
        self.waiting: dict[int, Stream] = {}

    @property
    def overrun(self) -> bool:
        """The peer makes us answer and does not read the answers."""
        return self.full and self._control > _CONTROL_LIMIT

    def control(self, data: bytes) -> None:
        """A frame that no window holds back."""
        self._control += 1
        self._frames.append(data)
        self._schedule()

    def head(self, sid: int, block: bytes, *, end: bool) -> None:
        self._control += 1
        size, limit = len(block), self.max_frame
        flags = END_STREAM if end else 0
        if size <= limit:
            self._frames.append(pack_header(size >> 8, size & 255, HEADERS, flags | END_HEADERS, sid) + block)
        else:
            self._frames.append(frame(HEADERS, flags, sid, block[:limit]))
            for position in range(limit, size, limit):
                last = END_HEADERS if position + limit >= size else 0
                self._frames.append(frame(CONTINUATION, last, sid, block[position : position + limit]))
        self._schedule()

    def answer(self, stream: Stream, block: bytes, body: bytes) -> None:
        """Head and body at once: two frames in one piece when nothing holds them back."""
        size = len(body)
        block_size = len(block)
        limit = self.max_frame
        if size <= stream.window and size <= self.window and size <= limit and block_size <= limit and not self.full:
            stream.window -= size
            self.window -= size
            stream.ending = True
            sid = stream.sid
            self._frames += (
                pack_header(block_size >> 8, block_size & 255, HEADERS, END_HEADERS, sid)
                + block
                + pack_header(size >> 8, size & 255, DATA, END_STREAM, sid),
                body,
            )
            stream.sent()
            self._schedule()
        else:
            self.head(stream.sid, block, end=False)
            self.data(stream, body, end=True)

    def data(self, stream: Stream, data: bytes, *, end: bool) -> None:
        size = len(data)
        if (
            not stream.queue
            and size <= stream.window
            and size <= self.window
            and size <= self.max_frame
            and not self.full
        ):
            stream.window -= size
            self.window -= size
            self._frames.append(pack_header(size >> 8, size & 255, DATA, 1 if end else 0, stream.sid))
            if size:
                self._frames.append(data)
            if end:
                stream.ending = True
                stream.sent()
            if not self._scheduled:
                self._scheduled = True
                self._loop.call_soon(self.flush)
            return
        if stream.queue is None:
            stream.queue = deque()
        stream.queue.append(memoryview(data))
        stream.queued += size
        stream.ending = end
        if stream.sid not in self.waiting:
            self.waiting[stream.sid] = stream
            stream.moved()
        self._send_what_fits(stream)

    def apply_settings(self, settings: list[tuple[int, int]], streams: Iterable[Stream]) -> None:
        for key, value in settings:
            if key == INITIAL_WINDOW_SIZE:
                change = value - self.initial_window
                self.initial_window = value
                for stream in streams:
                    stream.window += change
                    if stream.window > MAX_WINDOW:
                        raise ConnectionFault(FLOW_CONTROL_ERROR)
            elif key == MAX_FRAME_SIZE:
                self.max_frame = min(value, _FRAME_LIMIT)

    def window_opened(self, increment: int) -> None:
        self.window += increment
        if self.window > MAX_WINDOW:
            raise ConnectionFault(FLOW_CONTROL_ERROR)
        self.send_waiting()

    def stream_window_opened(self, stream: Stream, increment: int) -> None:
        stream.window += increment
        if stream.window > MAX_WINDOW:
            raise StreamFault(stream.sid, FLOW_CONTROL_ERROR)
        if stream.queue:
            self._send_what_fits(stream)

    def send_waiting(self) -> None:
        """Go round the waiting streams while any of them gets on."""
        moved = True
        while moved and self.waiting and not self.full and self.window >= 0:
            moved = False
            for stream in list(self.waiting.values()):
                if self._send_waiting(stream):
                    moved = True
                    if stream.sid in self.waiting:
                        del self.waiting[stream.sid]
                        self.waiting[stream.sid] = stream

    def flush(self) -> None:
        self._scheduled = False
        frames = self._frames
        if not frames:
            return
        self._frames = []
        self._unflushed = 0
        if not self._transport.is_closing():
            self._transport.write(b"".join(frames))
        if not self.full:
            self._control = 0

    def _schedule(self) -> None:
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self.flush)

    def _send_what_fits(self, stream: Stream) -> None:
        """Turn by turn: a peer with a wide window opens it again only much later, and nothing else would go on."""
        while self._send_waiting(stream):
            pass

    def _send_waiting(self, stream: Stream) -> bool:
        """Send one turn's worth of the stream's queue; false when nothing could be sent."""
        queue = stream.queue
        if self.full or not queue:
            return False
        budget = turn = max(0, min(stream.window, self.window, _TURN_SIZE))
        while queue:
            piece = queue[0]
            size = min(len(piece), budget, self.max_frame)
            whole = size == len(piece)
            if not size and not whole:
                break
            last = whole and stream.ending and len(queue) == 1
            self._frames.append(pack_header(size >> 8, size & 255, DATA, 1 if last else 0, stream.sid))
            self._frames.append(piece if whole else piece[:size])
            budget -= size
            if whole:
                queue.popleft()
            else:
                queue[0] = piece[size:]
        used = turn - budget
        stream.window -= used
        self.window -= used
        stream.queued -= used
        done = not queue
        if done:
            del self.waiting[stream.sid]
            if stream.ending:
                stream.sent()
        if not used and not done:
            return False
        stream.moved()
        self._unflushed += used
        if self._unflushed >= _FLUSH_SIZE:
            self.flush()
        else:
            self._schedule()
        return True
