"""HPACK: decoding by jh2, encoding by hand and without state.

Responses are encoded as literals that are never indexed, with names from the static table: no table to keep, no
limits to negotiate, and a block is a join of cached prefixes and values.
"""

from __future__ import annotations

from functools import lru_cache

from jh2._hazmat import Decoder as _Decoder
from jh2._hazmat import OversizedHeaderListError

from kapi.wire.framing import HOP_BY_HOP, RESERVED, one_line
from kapi.wire.h2.frames import COMPRESSION_ERROR, ConnectionFault
from kapi.wire.messages import RawHeaders

_STATIC_STATUS = {200: b"\x88", 204: b"\x89", 206: b"\x8a", 304: b"\x8b", 400: b"\x8c", 404: b"\x8d", 500: b"\x8e"}
_STATIC_NAMES = (
    b":authority :method :method :path :path :scheme :scheme :status :status :status :status :status :status :status "
    b"accept-charset accept-encoding accept-language accept-ranges accept access-control-allow-origin age allow "
    b"authorization cache-control content-disposition content-encoding content-language content-length "
    b"content-location content-range content-type cookie date etag expect expires from host if-match "
    b"if-modified-since if-none-match if-range if-unmodified-since last-modified link location max-forwards "
    b"proxy-authenticate proxy-authorization range referer refresh retry-after server set-cookie "
    b"strict-transport-security transfer-encoding user-agent vary via www-authenticate"
).split()
_STATIC_INDEX = {name: index for index, name in enumerate(_STATIC_NAMES, 1)}


class HeaderListTooLong(Exception):
    """The list exceeds what is decoded; the table is out of step from here on, so the connection has to end."""


class Decoder:
    """One per connection; blocks must be given in the order they arrive, all of them."""

    __slots__ = ("_decode",)

    def __init__(self, limit: int) -> None:
        self._decode = _Decoder(limit).decode

    def decode(self, block: bytes) -> list[tuple[bytes, bytes, bool]]:
        try:
            fields: list[tuple[bytes, bytes, bool]] = self._decode(block, True)
        except OversizedHeaderListError:
            raise HeaderListTooLong from None
        except Exception:
            raise ConnectionFault(COMPRESSION_ERROR) from None
        except BaseException as error:
            # A panic of the decoder on malformed input arrives as a BaseException of its own.
            if type(error).__name__ != "PanicException":
                raise
            raise ConnectionFault(COMPRESSION_ERROR) from None
        return fields


def _length(size: int) -> bytes:
    """A string length: an integer with a 7-bit prefix, no Huffman coding."""
    if size < 127:
        return bytes((size,))
    size -= 127
    out = bytearray(b"\x7f")
    while size >= 128:
        out.append(size & 127 | 128)
        size >>= 7
    out.append(size)
    return bytes(out)


def _encode_field(name: bytes, value: bytes) -> bytes:
    index = _STATIC_INDEX.get(name)
    if index is None:
        start = b"\x00" + _length(len(name)) + name
    else:
        start = bytes((index,)) if index < 15 else bytes((15, index - 15))
    value = one_line(value)
    return start + _length(len(value)) + value


# Most fields of most answers are the same few; long values are not worth the memory, nor those that never come again.
_CACHED_LENGTH = 64
_MOST_CACHED = 1024
_PASSING = RESERVED | {b"audit-id"}
_ENCODED: dict[tuple[bytes, bytes], bytes] = {}
_known_field = lru_cache(maxsize=1024)(_encode_field)


def _encode_new_field(header: tuple[bytes, bytes]) -> bytes:
    field = _encode_field(*header)
    if header[0] not in _PASSING and len(header[1]) < _CACHED_LENGTH:
        if len(_ENCODED) >= _MOST_CACHED:
            _ENCODED.clear()
        _ENCODED[header] = field
    return field


def encode_head(status: int, headers: RawHeaders, date: bytes, length: int = -1) -> bytes:
    """The header block of an answer. `length` is the body's, when it is known here rather than by the handler."""
    out = [_STATIC_STATUS.get(status) or b"\x08\x03%d" % status]
    dated = False
    for header in headers:
        field = _ENCODED.get(header)
        if field is None:
            name = header[0]
            if name in RESERVED:
                if name in HOP_BY_HOP or (name == b"content-length" and length >= 0):
                    continue
                dated = dated or name == b"date"
            field = _encode_new_field(header)
        out.append(field)
    if not dated:
        out.append(_known_field(b"date", date))
    if length >= 0:
        out.append(_known_field(b"content-length", b"%d" % length))
    return b"".join(out)


CONTINUE = b"\x08\x03100"
