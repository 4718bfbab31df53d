"""Bytes to frames: the preface first, then frame after frame, whole ones only."""

from __future__ import annotations

from collections.abc import Iterator

from kapi.wire.h2.frames import (
    FRAME_SIZE_ERROR,
    HEADER_SIZE,
    MAX_STREAM_ID,
    PREFACE,
    PROTOCOL_ERROR,
    ConnectionFault,
    unpack_header,
)


class FrameReader:
    """Keeps what is not yet a whole frame; each byte is copied once, however small the pieces."""

    __slots__ = ("_greeted", "_max_frame", "_need", "_partial")

    def __init__(self, max_frame: int) -> None:
        self._max_frame = max_frame
        self._greeted = False
        self._partial = bytearray()
        self._need = 0

    def feed(self, data: bytes) -> Iterator[tuple[int, int, int, bytes, int, int]]:
        """(type, flags, stream, data, start, end): the payload is data[start:end]."""
        if self._partial:
            self._partial += data
            if len(self._partial) < self._need:
                return
            data = bytes(self._partial)
            self._partial = bytearray()
        size = len(data)
        position = 0 if self._greeted else self._take_preface(data)
        while self._greeted:
            self._need = HEADER_SIZE
            if size - position < HEADER_SIZE:
                break
            high, low, kind, flags, sid = unpack_header(data, position)
            length = high << 8 | low
            if length > self._max_frame:
                raise ConnectionFault(FRAME_SIZE_ERROR)
            start = position + HEADER_SIZE
            end = start + length
            if end > size:
                self._need = end - position
                break
            position = end
            yield kind, flags, sid & MAX_STREAM_ID, data, start, end
        if position < size:
            self._partial = bytearray(data[position:])

    def _take_preface(self, data: bytes) -> int:
        size = len(PREFACE)
        if data[:size] != PREFACE[: len(data)]:
            raise ConnectionFault(PROTOCOL_ERROR)
        if len(data) < size:
            self._need = size
            return 0
        self._greeted = True
        return size
