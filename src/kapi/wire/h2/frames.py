"""Frames: their layout, their numbers, and the two ways in which a peer can be wrong."""

from __future__ import annotations

from struct import Struct

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
MAX_WINDOW = 0x7FFFFFFF
MAX_STREAM_ID = 0x7FFFFFFF
DEFAULT_WINDOW = 65535
DEFAULT_MAX_FRAME = 16384

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH_PROMISE, PING, GOAWAY, WINDOW_UPDATE, CONTINUATION = range(10)

END_STREAM = ACK = 0x1
END_HEADERS = 0x4
PADDED = 0x8
WITH_PRIORITY = 0x20

NO_ERROR = 0x0
PROTOCOL_ERROR = 0x1
INTERNAL_ERROR = 0x2
FLOW_CONTROL_ERROR = 0x3
STREAM_CLOSED = 0x5
FRAME_SIZE_ERROR = 0x6
REFUSED_STREAM = 0x7
CANCEL = 0x8
COMPRESSION_ERROR = 0x9
ENHANCE_YOUR_CALM = 0xB

HEADER_TABLE_SIZE, ENABLE_PUSH, MAX_CONCURRENT_STREAMS, INITIAL_WINDOW_SIZE, MAX_FRAME_SIZE, MAX_HEADER_LIST_SIZE = (
    range(1, 7)
)

# A frame's header: 24 bits of length (as 16 + 8), type, flags, stream.
unpack_header = Struct(">HBBBI").unpack_from
pack_header = Struct(">HBBBI").pack
pack_u32 = Struct(">I").pack
unpack_u32 = Struct(">I").unpack_from
_unpack_setting = Struct(">HI").unpack_from
_pack_setting = Struct(">HI").pack
HEADER_SIZE = 9


class ConnectionFault(Exception):
    """The peer broke a rule of the connection: it ends with this code."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class StreamFault(Exception):
    """The peer broke a rule of one stream: that stream is reset."""

    def __init__(self, sid: int, code: int) -> None:
        super().__init__(sid, code)
        self.sid = sid
        self.code = code


def frame(kind: int, flags: int, sid: int, payload: bytes = b"") -> bytes:
    size = len(payload)
    return pack_header(size >> 8, size & 255, kind, flags, sid) + payload


def go_away_frame(last: int, code: int) -> bytes:
    return frame(GOAWAY, 0, 0, pack_u32(last) + pack_u32(code))


def reset_frame(sid: int, code: int) -> bytes:
    return frame(RST_STREAM, 0, sid, pack_u32(code))


def window_frame(sid: int, increment: int) -> bytes:
    return frame(WINDOW_UPDATE, 0, sid, pack_u32(increment))


def encode_settings(values: dict[int, int]) -> bytes:
    return frame(SETTINGS, 0, 0, b"".join(_pack_setting(key, value) for key, value in values.items()))


def decode_settings(data: bytes, start: int, end: int) -> list[tuple[int, int]]:
    """The settings in order, each checked against what it may be."""
    if (end - start) % 6:
        raise ConnectionFault(FRAME_SIZE_ERROR)
    settings = [_unpack_setting(data, position) for position in range(start, end, 6)]
    for key, value in settings:
        if key == INITIAL_WINDOW_SIZE and value > MAX_WINDOW:
            raise ConnectionFault(FLOW_CONTROL_ERROR)
        if (key == MAX_FRAME_SIZE and not DEFAULT_MAX_FRAME <= value <= 0xFFFFFF) or (key == ENABLE_PUSH and value > 1):
            raise ConnectionFault(PROTOCOL_ERROR)
    return settings


def without_padding(flags: int, data: bytes, start: int, end: int) -> tuple[int, int]:
    """Where the payload begins and ends once a PADDED frame's padding is taken off."""
    if not flags & PADDED:
        return start, end
    if start == end or data[start] >= end - start:
        raise ConnectionFault(PROTOCOL_ERROR)
    return start + 1, end - data[start]
