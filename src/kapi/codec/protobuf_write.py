"""Plain dicts to messages, byte for byte as Go's generated code writes them.

Fields go in the order of their numbers; those that are no pointers in Go are written even when they are not set; maps
are sorted by their keys. Each message is compiled into a function when the first of its kind is written.
"""

from __future__ import annotations

from binascii import a2b_base64
from collections.abc import Callable
from functools import cache
from struct import pack
from typing import Any, NamedTuple, TypeAlias

from kapi.codec.protobuf_special import SPECIAL_WRITERS, SPECIAL_ZEROS, sized
from kapi.codec.protobuf_wire import FIXED64, ONE_BYTE, SIZED, VARINT, varint
from kapi.schema.messages import MessageField, fields_of

Write: TypeAlias = Callable[[dict[str, Any]], bytes]
Encode: TypeAlias = Callable[[Any], bytes]
Append: TypeAlias = Callable[[Any, list[bytes]], None]


class _Step(NamedTuple):
    name: str
    append: Append
    absent: bytes  # what is written when the field is not set


@cache
def writer(message: str) -> Write:
    """The function that writes a dict as a message."""
    plan: list[_Step] = []

    def write(value: dict[str, Any]) -> bytes:
        if not plan:
            plan.extend([_step(field) for field in fields_of(message)])
        out: list[bytes] = []
        get = value.get
        for name, append, absent in plan:
            item = get(name) if name else value
            if item is not None:
                append(item, out)
            elif absent:
                out.append(absent)
        return b"".join(out)

    return write


def _step(field: MessageField) -> _Step:
    number = _NUMBERS.get(field.type)
    kind, encode = number if number is not None else (SIZED, _payload(field))
    tag = varint(field.number << 3 | kind)
    if kind == SIZED:
        append = _sized(tag, encode, field)
    else:
        append = _repeated_number(tag, encode) if field.form == "[" else _number(tag, encode)
    return _Step(field.name, append, tag + _zero(field) if not field.form else b"")


def _zero(field: MessageField) -> bytes:
    """The value of a field that is not set."""
    if field.type == "double":
        return bytes(8)
    if field.type in _NUMBERS or field.type == "string":
        return b"\x00"
    if field.type in SPECIAL_WRITERS:
        return sized(SPECIAL_ZEROS.get(field.type, b""))
    return sized(writer(field.type)({}))


# Numbers


def _integer(value: int) -> bytes:
    return ONE_BYTE[value] if 0 <= value < 128 else varint(value)


def _bool(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


def _double(value: float) -> bytes:
    return pack("<d", value)


_NUMBERS: dict[str, tuple[int, Encode]] = {
    "int32": (VARINT, _integer),
    "int64": (VARINT, _integer),
    "bool": (VARINT, _bool),
    "double": (FIXED64, _double),
}


def _number(tag: bytes, encode: Encode) -> Append:
    return lambda item, out: out.append(tag + encode(item))


def _repeated_number(tag: bytes, encode: Encode) -> Append:
    return lambda items, out: out.extend([tag + encode(item) for item in items])


# What has a length


def _payload(field: MessageField) -> Encode:
    """Writes one value of a field's type, without its length."""
    if field.type == "string":
        return str.encode
    if field.type == "bytes":
        return a2b_base64
    special = SPECIAL_WRITERS.get(field.type)
    if special is not None:
        return lambda value: special(writer, value)
    write = writer(field.type)
    if field.form.endswith("@"):
        return lambda items: write({"items": items})
    return write


def _sized(tag: bytes, encode: Encode, field: MessageField) -> Append:
    if field.form.startswith("{"):
        return _entries(tag, encode)

    def append(item: Any, out: list[bytes]) -> None:
        raw = encode(item)
        size = len(raw)
        out.append(b"%b%b%b" % (tag, ONE_BYTE[size] if size < 128 else varint(size), raw))

    if field.form != "[":
        return append

    def append_all(items: list[Any], out: list[bytes]) -> None:
        for item in items:
            append(item, out)

    return append_all


def _entries(tag: bytes, encode: Encode) -> Append:
    def append(entries: dict[str, Any], out: list[bytes]) -> None:
        for key in sorted(entries):
            item = entries[key]
            raw = b"" if item is None else sized(encode(item))
            name = key.encode()
            entry = b"\n%b%b\x12%b" % (varint(len(name)), name, raw or b"\x00")
            out.append(b"%b%b%b" % (tag, varint(len(entry)), entry))

    return append
