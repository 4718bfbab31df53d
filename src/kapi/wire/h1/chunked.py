"""The chunked transfer coding, decoded without I/O: bytes in, pieces of the body out.

Strict: CRLF ends every line, sizes are plain hexadecimal, extensions and trailers are bounded and dropped.
"""

from __future__ import annotations

import re

_SIZE = re.compile(rb"([0-9A-Fa-f]{1,15})(?:[ \t]*;[^\r\n\0]*)?\r\n").fullmatch
_TRAILER = re.compile(rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+:[^\r\n\0]*\r\n").fullmatch
_LINE_LIMIT = 4096
_TRAILERS_LIMIT = 64 * 1024
# Chunk extensions are overhead that the body's limit does not see; allow what honest senders need.
_OVERHEAD_LIMIT = 16 * 1024

_SIZE_LINE, _DATA, _DATA_END, _TRAILER_LINE, _DONE = range(5)


class BadChunk(ValueError):
    """The coding is broken: where the request ends is unknown, the connection has to."""


class ChunkedDecoder:
    """Feed it; `done` says that the body is complete."""

    __slots__ = ("_left", "_line", "_overhead", "_state", "_trailers")

    def __init__(self) -> None:
        self._state = _SIZE_LINE
        self._left = 0
        self._line = b""
        self._trailers = 0
        self._overhead = 0

    @property
    def done(self) -> bool:
        return self._state == _DONE

    def feed(self, data: bytes) -> tuple[list[bytes], bytes]:
        """(pieces of the body, what follows the body)."""
        pieces: list[bytes] = []
        position, size = 0, len(data)
        while position < size and self._state != _DONE:
            if self._state == _DATA:
                piece = data[position : position + self._left]
                pieces.append(piece)
                position += len(piece)
                self._left -= len(piece)
                if not self._left:
                    self._state = _DATA_END
            else:
                position = self._take_line(data, position)
        return pieces, data[position:] if position < size else b""

    def _take_line(self, data: bytes, position: int) -> int:
        end = data.find(b"\n", position) + 1
        self._line += data[position:end] if end else data[position:]
        if len(self._line) > _LINE_LIMIT:
            raise BadChunk("line too long")
        if not end:
            return len(data)
        line, self._line = self._line, b""
        if self._state == _SIZE_LINE:
            self._on_size(line)
        elif self._state == _DATA_END:
            if line != b"\r\n":
                raise BadChunk("no CRLF after a chunk")
            self._state = _SIZE_LINE
        else:
            self._on_trailer(line)
        return end

    def _on_size(self, line: bytes) -> None:
        match = _SIZE(line)
        if match is None:
            raise BadChunk("invalid chunk size")
        self._left = int(match[1], 16)
        self._overhead += len(line) - len(match[1]) - 2
        if self._overhead > _OVERHEAD_LIMIT:
            raise BadChunk("too many chunk extensions")
        self._state = _DATA if self._left else _TRAILER_LINE

    def _on_trailer(self, line: bytes) -> None:
        if line == b"\r\n":
            self._state = _DONE
            return
        self._trailers += len(line)
        if self._trailers > _TRAILERS_LIMIT or _TRAILER(line) is None:
            raise BadChunk("invalid trailer")
