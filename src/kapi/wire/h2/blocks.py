"""Header blocks: one HEADERS frame and any number of CONTINUATION frames, which nothing may interrupt."""

from __future__ import annotations

from kapi.wire.h2.frames import (
    ENHANCE_YOUR_CALM,
    FRAME_SIZE_ERROR,
    MAX_STREAM_ID,
    PROTOCOL_ERROR,
    WITH_PRIORITY,
    ConnectionFault,
    unpack_u32,
    without_padding,
)
from kapi.wire.h2.hpack import HeaderListTooLong

# 1 MiB in frames of the smallest size that every peer must take, and as many again.
_FRAGMENTS_LIMIT = 128


class Block:
    """A block that is still arriving."""

    __slots__ = ("_fragments", "_size", "flags", "sid")

    def __init__(self, sid: int, flags: int, first: bytes) -> None:
        self.sid = sid
        self.flags = flags
        self._fragments = [first]
        self._size = len(first)

    def add(self, fragment: bytes, limit: int) -> None:
        self._fragments.append(fragment)
        self._size += len(fragment)
        if self._size > limit:
            raise HeaderListTooLong
        if len(self._fragments) > _FRAGMENTS_LIMIT:
            raise ConnectionFault(ENHANCE_YOUR_CALM)

    def whole(self) -> bytes:
        return b"".join(self._fragments)


def first_fragment(sid: int, flags: int, data: bytes, start: int, end: int) -> bytes:
    """What a HEADERS frame carries of its block. Priorities are checked and dropped: RFC 9113 deprecates them."""
    start, end = without_padding(flags, data, start, end)
    if flags & WITH_PRIORITY:
        if end - start < 5:
            raise ConnectionFault(FRAME_SIZE_ERROR)
        if unpack_u32(data, start)[0] & MAX_STREAM_ID == sid:
            raise ConnectionFault(PROTOCOL_ERROR)
        start += 5
    return data[start:end]
