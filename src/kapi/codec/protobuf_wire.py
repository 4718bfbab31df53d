"""The encoding of protobuf: varints, tags, and what makes bytes malformed, in the words of Go's generated code."""

from __future__ import annotations

VARINT, FIXED64, SIZED, START_GROUP, END_GROUP, FIXED32 = range(6)

ONE_BYTE = tuple(bytes((n,)) for n in range(128))
_UINT64 = 0xFFFFFFFFFFFFFFFF
_OVERFLOW = "proto: integer overflow"


class Malformed(ValueError):
    """The bytes are no message; the text is Go's."""


def truncated() -> Malformed:
    return Malformed("unexpected EOF")


def varint(number: int) -> bytes:
    """A number's bytes; a negative one takes ten."""
    number &= _UINT64
    if number < 128:
        return ONE_BYTE[number]
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    out.append(number)
    return bytes(out)


def long_varint(data: bytes, at: int, first: int) -> tuple[int, int]:
    """The number whose first byte was read and is not its last, and where it ends."""
    number, shift = first & 127, 7
    while True:
        byte = data[at]
        at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            return number & _UINT64, at
        shift += 7
        if shift > 63:
            raise Malformed(_OVERFLOW)


def long_size(data: bytes, at: int, first: int) -> tuple[int, int]:
    """The same for a length."""
    size, at = long_varint(data, at, first)
    if size >> 63:
        raise Malformed("proto: negative length found during unmarshaling")
    return size, at


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    first = data[at]
    return (first, at + 1) if first < 128 else long_varint(data, at + 1, first)


def read_size(data: bytes, at: int) -> tuple[int, int]:
    first = data[at]
    return (first, at + 1) if first < 128 else long_size(data, at + 1, first)


def skip(data: bytes, at: int, kind: int) -> int:
    """Where a field that nobody knows ends: it began at `at`, after its tag."""
    groups = 0
    while True:
        if kind == VARINT:
            _, at = read_varint(data, at)
        elif kind == FIXED64:
            at += 8
        elif kind == FIXED32:
            at += 4
        elif kind == SIZED:
            size, at = read_size(data, at)
            at += size
        elif kind == START_GROUP:
            groups += 1
        elif kind == END_GROUP:
            if not groups:
                raise Malformed("proto: unexpected end of group")
            groups -= 1
        else:
            raise Malformed(f"proto: illegal wireType {kind}")
        if not groups:
            return at
        tag, at = read_varint(data, at)
        kind = tag & 7
