"""The HTTP/2 connection: takes frames apart, keeps the streams, and ends in order.

Every frame goes through one table. A rule broken on the connection raises ConnectionFault and ends it; one broken
on a stream raises StreamFault and resets that stream. Whatever a peer can make us hold is bounded: header blocks by
size and fragments, bodies by windows, handlers by number, and frames that lead nowhere by an allowance.
"""

from __future__ import annotations

import asyncio
from math import inf

from kapi.wire.connection import BaseConnection
from kapi.wire.h2.blocks import Block, first_fragment
from kapi.wire.h2.fields import Malformed, RequestFields, check_trailers
from kapi.wire.h2.flow import Allowance, ReceiveWindow
from kapi.wire.h2.frames import (
    ACK,
    CANCEL,
    CONTINUATION,
    END_HEADERS,
    END_STREAM,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    FRAME_SIZE_ERROR,
    INITIAL_WINDOW_SIZE,
    MAX_CONCURRENT_STREAMS,
    MAX_FRAME_SIZE,
    MAX_HEADER_LIST_SIZE,
    MAX_STREAM_ID,
    MAX_WINDOW,
    NO_ERROR,
    PING,
    PROTOCOL_ERROR,
    REFUSED_STREAM,
    SETTINGS,
    STREAM_CLOSED,
    ConnectionFault,
    StreamFault,
    decode_settings,
    encode_settings,
    frame,
    go_away_frame,
    reset_frame,
    unpack_u32,
    window_frame,
    without_padding,
)
from kapi.wire.h2.hpack import Decoder, HeaderListTooLong, encode_head
from kapi.wire.h2.outbox import Outbox
from kapi.wire.h2.reader import FrameReader
from kapi.wire.h2.stream import Stream
from kapi.wire.service import Service

_REMEMBERED_RESETS = 1000
_LAST_PING = b"goodbye!"
_LINGER = 0.5
_GRACE = 1.0  # for requests that crossed our first GOAWAY on the wire


class H2Connection(BaseConnection):
    """Satisfies `Connection`."""

    outbox: Outbox

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        limits = service.limits
        now = service.now
        self._streams: dict[int, Stream] = {}
        self._running = 0
        self._last = 0  # the highest stream that the peer opened
        self._refuse_above = MAX_STREAM_ID
        self._reset_by_us: dict[int, None] = {}
        self._reader = FrameReader(limits.max_frame)
        self._settled = False  # the first SETTINGS came
        self._block: Block | None = None
        self._decoder = Decoder(2 * limits.header_bytes)
        self._receive = ReceiveWindow(limits.connection_window)
        self._resets = Allowance(burst=4 * limits.max_streams, per_second=limits.max_streams, now=now)
        self._idle_frames = Allowance(burst=10_000, per_second=1_000, now=now)
        self._ended = False
        self._announced_end = False
        self._end_at = inf
        self._deadline = now + limits.header_timeout
        # By frame type.
        self._handlers = (
            self._on_data,
            self._on_headers,
            self._on_priority,
            self._on_reset,
            self._on_settings,
            self._on_push_promise,
            self._on_ping,
            self._on_go_away,
            self._on_window_update,
            self._on_continuation,
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        super().connection_made(transport)
        limits = self.service.limits
        self.outbox = Outbox(self.transport, self.service.loop)
        settings = encode_settings(
            {
                MAX_CONCURRENT_STREAMS: limits.max_streams,
                INITIAL_WINDOW_SIZE: limits.stream_window,
                MAX_FRAME_SIZE: limits.max_frame,
                MAX_HEADER_LIST_SIZE: limits.header_bytes,
            }
        )
        self.transport.write(settings + self._receive.opening())

    def connection_lost(self, exc: Exception | None) -> None:
        self._ended = True
        self._lose_streams()
        super().connection_lost(exc)

    def pause_writing(self) -> None:
        super().pause_writing()
        self.outbox.full = True

    def resume_writing(self) -> None:
        self.outbox.full = False
        super().resume_writing()
        self.start_reading()
        if not self._ended:
            self.outbox.send_waiting()

    def check(self, now: float) -> None:
        super().check(now)
        if now > self._end_at:
            self._end_in_order()
        if self._deadline < now:
            if self._settled and self._block is None:
                self.go_away()
            else:
                self.abort()
        for stream in list(self.outbox.waiting.values()):
            if stream.ending and now - stream.stalled > self.service.limits.stall_timeout:
                self.reset(stream.sid, CANCEL)

    # Receiving

    def data_received(self, data: bytes) -> None:
        ended = self._ended
        if ended:
            return
        handlers = self._handlers
        try:
            for kind, flags, sid, payload, start, end in self._reader.feed(data):
                if self._block is not None and kind != CONTINUATION:
                    raise ConnectionFault(PROTOCOL_ERROR)
                if not self._settled:
                    self._settle(kind, flags)
                try:
                    if kind < len(handlers):
                        handlers[kind](sid, flags, payload, start, end)
                    else:
                        self._idle_frames.spend(self.service.now)
                except StreamFault as fault:
                    self._resets.spend(self.service.now)
                    self.reset(fault.sid, fault.code)
                if self._ended:
                    return
        except ConnectionFault as fault:
            self._fail(fault.code)
            return
        if self.outbox.overrun:
            self.stop_reading()
        self.outbox.flush()

    def _settle(self, kind: int, flags: int) -> None:
        if kind != SETTINGS or flags & ACK:
            raise ConnectionFault(PROTOCOL_ERROR)
        self._settled = True
        self._deadline = self.service.now + self.service.limits.idle_timeout

    def _on_headers(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        if not sid & 1:
            raise ConnectionFault(PROTOCOL_ERROR)
        fragment = first_fragment(sid, flags, data, start, end)
        if flags & END_HEADERS:
            self._on_block(sid, flags, fragment)
        else:
            self._block = Block(sid, flags, fragment)
            self._deadline = min(self._deadline, self.service.now + self.service.limits.header_timeout)

    def _on_continuation(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        block = self._block
        if block is None or block.sid != sid:
            raise ConnectionFault(PROTOCOL_ERROR)
        try:
            block.add(data[start:end], self.service.limits.header_bytes)
        except HeaderListTooLong:
            self._answer_too_long(sid)
            return
        if flags & END_HEADERS:
            self._block = None
            self._deadline = self._idle_deadline()
            self._on_block(sid, block.flags, block.whole())

    def _on_block(self, sid: int, flags: int, block: bytes) -> None:
        try:
            fields = self._decoder.decode(block)
        except HeaderListTooLong:
            self._answer_too_long(sid)
            return
        if sid <= self._last:
            self._on_trailers(sid, flags, fields)
            return
        if sid > self._refuse_above:
            return
        self._last = sid
        if len(self._streams) >= self.service.limits.max_streams:
            raise StreamFault(sid, REFUSED_STREAM)
        if self._running >= 4 * self.service.limits.max_streams:
            # Handlers of streams that the peer reset are still at work: it opens and resets faster than we can follow.
            raise ConnectionFault(ENHANCE_YOUR_CALM)
        try:
            request = RequestFields(fields)
        except Malformed:
            raise StreamFault(sid, PROTOCOL_ERROR) from None
        self._open(sid, request, has_body=not flags & END_STREAM)

    def _open(self, sid: int, request: RequestFields, *, has_body: bool) -> None:
        if not has_body and request.length > 0:
            raise StreamFault(sid, PROTOCOL_ERROR)
        if request.size > self.service.limits.header_bytes:
            self.outbox.head(sid, encode_head(431, [], self.service.date, 0), end=True)
            if has_body:
                self.reset(sid, NO_ERROR)
            return
        self._streams[sid] = stream = Stream(self, sid, request, has_body=has_body)
        self._deadline = inf
        self._running += 1
        self.service.start(stream)

    def _on_trailers(self, sid: int, flags: int, fields: list[tuple[bytes, bytes, bool]]) -> None:
        stream = self._streams.get(sid)
        if stream is None:
            if sid in self._reset_by_us:
                return
            raise ConnectionFault(STREAM_CLOSED)
        incoming = stream.incoming
        if incoming is None or incoming.complete:
            raise StreamFault(sid, STREAM_CLOSED)
        if not flags & END_STREAM or stream.length not in (-1, stream.received):
            raise StreamFault(sid, PROTOCOL_ERROR)
        try:
            check_trailers(fields)
        except Malformed:
            raise StreamFault(sid, PROTOCOL_ERROR) from None
        self._give_back(stream.uncredited)
        stream.uncredited = 0
        incoming.end()

    def _on_data(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        size = end - start
        self._receive.take(size)
        stream = self._streams.get(sid)
        if stream is None:
            self._on_stray_data(sid, size)
            return
        incoming = stream.incoming
        if incoming is None or incoming.complete:
            self._give_back(size)
            raise StreamFault(sid, STREAM_CLOSED)
        start, end = without_padding(flags, data, start, end)
        stream.uncredited += size
        stream.received += end - start
        if stream.uncredited > self.service.limits.stream_window:
            raise StreamFault(sid, FLOW_CONTROL_ERROR)
        last = flags & END_STREAM
        if stream.length >= 0 and (stream.received > stream.length or (last and stream.received != stream.length)):
            raise StreamFault(sid, PROTOCOL_ERROR)
        if end > start:
            incoming.push(data[start:end])
        elif not last:
            self._idle_frames.spend(self.service.now)
        if last:
            self._give_back(stream.uncredited)
            stream.uncredited = 0
            incoming.end()

    def _on_stray_data(self, sid: int, size: int) -> None:
        """DATA for a stream that is over: legal while the peer may not know that yet."""
        if not sid or (sid > self._last and sid <= self._refuse_above):
            raise ConnectionFault(PROTOCOL_ERROR)
        self._give_back(size)
        if sid not in self._reset_by_us and sid <= self._refuse_above:
            raise StreamFault(sid, STREAM_CLOSED)

    def _on_settings(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        if sid:
            raise ConnectionFault(PROTOCOL_ERROR)
        self._idle_frames.spend(self.service.now)
        if flags & ACK:
            if end > start:
                raise ConnectionFault(FRAME_SIZE_ERROR)
            return
        self.outbox.apply_settings(decode_settings(data, start, end), self._streams.values())
        self.outbox.control(frame(SETTINGS, ACK, 0))
        self.outbox.send_waiting()

    def _on_window_update(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        if end - start != 4:
            raise ConnectionFault(FRAME_SIZE_ERROR)
        increment = unpack_u32(data, start)[0] & MAX_WINDOW
        if not sid:
            if not increment:
                raise ConnectionFault(PROTOCOL_ERROR)
            self.outbox.window_opened(increment)
            return
        stream = self._streams.get(sid)
        if stream is None:
            self._check_opened(sid)
            self._idle_frames.spend(self.service.now)
        elif not increment:
            raise StreamFault(sid, PROTOCOL_ERROR)
        else:
            self.outbox.stream_window_opened(stream, increment)

    def _on_reset(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        if end - start != 4:
            raise ConnectionFault(FRAME_SIZE_ERROR)
        self._check_opened(sid)
        self._resets.spend(self.service.now)
        stream = self._streams.get(sid)
        if stream is not None:
            self._drop(stream)

    def _on_ping(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        if end - start != 8:
            raise ConnectionFault(FRAME_SIZE_ERROR)
        if sid:
            raise ConnectionFault(PROTOCOL_ERROR)
        self._idle_frames.spend(self.service.now)
        if not flags & ACK:
            self.outbox.control(frame(PING, ACK, 0, data[start:end]))
        elif self._announced_end and data[start:end] == _LAST_PING:
            self._end_in_order()

    def _on_priority(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        if not sid:
            raise ConnectionFault(PROTOCOL_ERROR)
        self._idle_frames.spend(self.service.now)
        if end - start != 5:
            raise StreamFault(sid, FRAME_SIZE_ERROR)
        if unpack_u32(data, start)[0] & MAX_STREAM_ID == sid:
            raise StreamFault(sid, PROTOCOL_ERROR)

    def _on_go_away(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        if sid:
            raise ConnectionFault(PROTOCOL_ERROR)
        if end - start < 8:
            raise ConnectionFault(FRAME_SIZE_ERROR)
        self._idle_frames.spend(self.service.now)

    def _on_push_promise(self, sid: int, flags: int, data: bytes, start: int, end: int) -> None:
        raise ConnectionFault(PROTOCOL_ERROR)

    def _check_opened(self, sid: int) -> None:
        if not sid or (sid > self._last and sid <= self._refuse_above):
            raise ConnectionFault(PROTOCOL_ERROR)

    # Streams

    def credit(self, stream: Stream) -> None:
        """The handler waits for more of the body: let the peer send on once half of the window is used."""
        used = stream.uncredited
        if used <= self.service.limits.stream_window >> 1 or stream.closed or self._ended:
            return
        stream.uncredited = 0
        self.outbox.control(window_frame(stream.sid, used))
        self._give_back(used)

    def answered(self, stream: Stream) -> None:
        """Our half is complete. What the peer still sends of its half is not wanted any more."""
        if self._streams.pop(stream.sid, None) is None:
            return
        if stream.incoming is not None and not stream.incoming.complete:
            self.outbox.control(reset_frame(stream.sid, NO_ERROR))
            self._remember_reset(stream.sid)
            self._give_back(stream.uncredited)
        self._maybe_idle()

    def handler_ended(self, stream: Stream) -> None:
        self._running -= 1

    def reset(self, sid: int, code: int) -> None:
        if self._ended:
            return
        self.outbox.control(reset_frame(sid, code))
        self._remember_reset(sid)
        stream = self._streams.get(sid)
        if stream is not None:
            self._drop(stream)

    def _drop(self, stream: Stream) -> None:
        del self._streams[stream.sid]
        self.outbox.waiting.pop(stream.sid, None)
        self._give_back(stream.uncredited)
        stream.lose()
        self._maybe_idle()

    def _remember_reset(self, sid: int) -> None:
        self._reset_by_us[sid] = None
        if len(self._reset_by_us) > _REMEMBERED_RESETS:
            del self._reset_by_us[next(iter(self._reset_by_us))]

    def _give_back(self, size: int) -> None:
        update = self._receive.give_back(size)
        if update:
            self.outbox.control(update)

    # Ending

    def go_away(self) -> None:
        """Announce the end, and set it once the requests that crossed the announcement have arrived."""
        if self._announced_end or self._ended:
            return
        self._announced_end = True
        self._deadline = inf
        self._end_at = self.service.now + _GRACE
        self.outbox.control(go_away_frame(MAX_STREAM_ID, NO_ERROR) + frame(PING, 0, 0, _LAST_PING))

    def _end_in_order(self) -> None:
        self._end_at = inf
        if self._refuse_above == MAX_STREAM_ID:
            self._refuse_above = self._last
            self.outbox.control(go_away_frame(self._last, NO_ERROR))
        self._maybe_idle()

    def _idle_deadline(self) -> float:
        return inf if self._streams else self.service.now + self.service.limits.idle_timeout

    def _maybe_idle(self) -> None:
        if self._streams:
            return
        if self._refuse_above < MAX_STREAM_ID:
            self.service.loop.call_soon(self._close)
        elif not self._announced_end:
            self._deadline = self._idle_deadline()

    def _answer_too_long(self, sid: int) -> None:
        """431, and the end: the fields that were not decoded may be missing in the table."""
        self._last = max(self._last, sid)
        self.outbox.head(sid, encode_head(431, [], self.service.date, 0), end=True)
        self._fail(ENHANCE_YOUR_CALM)

    def _fail(self, code: int) -> None:
        """Say why, and read on for a moment: a connection closed on unread bytes takes the reason with it."""
        if self._ended:
            return
        self.outbox.control(go_away_frame(self._last, code))
        self.outbox.flush()
        self._ended = True
        self._lose_streams()
        self.start_reading()
        self.service.loop.call_later(_LINGER, self.transport.close)

    def _close(self) -> None:
        if not self._ended:
            self._ended = True
            self.outbox.flush()
            self.transport.close()

    def _lose_streams(self) -> None:
        streams, self._streams = self._streams, {}
        self.outbox.waiting.clear()
        for stream in streams.values():
            stream.lose()
