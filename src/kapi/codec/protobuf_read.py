"""Messages to plain dicts: each message is compiled into a function when the first of its kind comes by.

What Go writes for a field that is not set, an empty string or zero, is left out here as JSON leaves it out; only fields
that are pointers in Go keep it. A field that comes twice is merged or replaced, as protobuf has it.
"""

from __future__ import annotations

import re
from binascii import b2a_base64
from collections.abc import Callable
from functools import cache
from math import isfinite
from struct import unpack_from
from typing import Any, TypeAlias

from kapi.codec.protobuf_special import SPECIAL_READERS
from kapi.codec.protobuf_wire import (
    FIXED64,
    SIZED,
    VARINT,
    Malformed,
    long_size,
    long_varint,
    read_size,
    read_varint,
    skip,
    truncated,
)
from kapi.schema.messages import MessageField, fields_of

# Message, data, its beginning and end, how much deeper it may go.
Read: TypeAlias = Callable[[dict[str, Any], bytes, int, int, int], None]
ReadValue: TypeAlias = Callable[[bytes, int, int, int], Any]
Take: TypeAlias = Callable[[dict[str, Any], Any], None]

MAX_DEPTH = 100
_INVALID_BYTE = re.compile("[\udc80-\udcff]")


class _Plan:
    """A message's fields by tag: those with a length, and plain numbers."""

    __slots__ = ("names", "numbers", "of", "sized")

    def __init__(self, message: str) -> None:
        self.of = message.rpartition(".")[2]
        self.sized: dict[int, Read] = {}
        self.numbers: dict[int, Take] = {}
        self.names: dict[int, str] = {}
        for field in fields_of(message):
            self.names[field.number] = field.name or field.type.rpartition(".")[2]
            tag = field.number << 3
            number = _NUMBERS.get(field.type)
            if number is None:
                self.sized[tag | SIZED] = _sized(field)
                continue
            kind, of = number
            self.numbers[tag | kind] = _repeated_number(field, of) if field.form == "[" else _number(field, of)
            if field.form == "[" and kind == VARINT:
                self.sized[tag | SIZED] = _packed(field, of)

    def check(self, tag: int) -> None:
        """A field that is not in the plan must be unknown, or it has the wrong form."""
        number, kind = tag >> 3, tag & 7
        if kind == 4:
            raise Malformed(f"proto: {self.of}: wiretype end group for non-group")
        if not 0 < number < 1 << 31:
            raise Malformed(f"proto: {self.of}: illegal tag {number} (wire type {tag})")
        name = self.names.get(number)
        if name is not None:
            raise Malformed(f"proto: wrong wireType = {kind} for field {name[0].upper()}{name[1:]}")


@cache
def reader(message: str) -> Read:
    """The function that reads a message into a dict."""
    plans: list[_Plan] = []

    def read(out: dict[str, Any], data: bytes, at: int, end: int, depth: int) -> None:
        if not plans:
            plans.append(_Plan(message))
        plan = plans[0]
        if depth < 0:
            raise Malformed("proto: exceeded max recursion depth")
        sized, numbers = plan.sized, plan.numbers
        while at < end:
            tag = data[at]
            at += 1
            if tag > 127:
                tag, at = long_varint(data, at, tag)
            kind = tag & 7
            if kind == SIZED:
                size = data[at]
                at += 1
                if size > 127:
                    size, at = long_size(data, at, size)
                stop = at + size
                if stop > end:
                    raise truncated()
                step = sized.get(tag)
                if step is not None:
                    step(out, data, at, stop, depth)
                else:
                    plan.check(tag)
                at = stop
                continue
            take = numbers.get(tag)
            if take is None:
                plan.check(tag)
                at = skip(data, at, kind)
            elif kind == VARINT:
                number = data[at]
                at += 1
                if number > 127:
                    number, at = long_varint(data, at, number)
                take(out, number)
            else:
                at += 8
                if at <= end:
                    take(out, unpack_from("<d", data, at - 8)[0])
        if at > end:
            raise truncated()

    return read


def read_message(message: str, data: bytes) -> dict[str, Any]:
    """A whole message; Malformed when it is none."""
    out: dict[str, Any] = {}
    try:
        reader(message)(out, data, 0, len(data), MAX_DEPTH)
    except IndexError:
        raise truncated() from None
    return out


# Numbers


def _int32(number: int) -> int:
    number &= 0xFFFFFFFF
    return number - 0x100000000 if number >> 31 else number


def _int64(number: int) -> int:
    return number - 0x10000000000000000 if number >> 63 else number


def _double(number: float) -> float:
    if not isfinite(number):
        raise Malformed(f"json: unsupported value: {number}")
    return number


_NUMBERS: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "int32": (VARINT, _int32),
    "int64": (VARINT, _int64),
    "bool": (VARINT, bool),
    "double": (FIXED64, _double),
}


def _number(field: MessageField, of: Callable[[Any], Any]) -> Take:
    name = field.name

    def optional(out: dict[str, Any], number: Any) -> None:
        out[name] = of(number)

    def plain(out: dict[str, Any], number: Any) -> None:
        value = of(number)
        if value:
            out[name] = value
        elif name in out:
            del out[name]

    return optional if field.form == "?" else plain


def _repeated_number(field: MessageField, of: Callable[[Any], Any]) -> Take:
    name = field.name
    return lambda out, number: out.setdefault(name, []).append(of(number))


def _packed(field: MessageField, of: Callable[[Any], Any]) -> Read:
    name = field.name

    def step(out: dict[str, Any], data: bytes, at: int, stop: int, depth: int) -> None:
        items = out.setdefault(name, [])
        while at < stop:
            number, at = read_varint(data, at)
            items.append(of(number))
        if at > stop:
            raise truncated()

    return step


# What has a length


def _text(data: bytes, at: int, stop: int, depth: int) -> str:
    raw = data[at:stop]
    try:
        return raw.decode()
    except UnicodeDecodeError:
        # As Go's JSON: each byte that is no text is replaced.
        return _INVALID_BYTE.sub("\ufffd", raw.decode("utf-8", "surrogateescape"))


def _data(data: bytes, at: int, stop: int, depth: int) -> bytes:
    return data[at:stop]


def _base64(data: bytes, at: int, stop: int, depth: int) -> str:
    return b2a_base64(data[at:stop], newline=False).decode()


def _value(field: MessageField) -> ReadValue:
    """Reads one value of a field's type."""
    if field.type == "string":
        return _text
    if field.type == "bytes":
        return _base64
    if field.type == "data":
        return _data
    special = SPECIAL_READERS.get(field.type)
    if special is not None:
        return lambda data, at, stop, depth: special(reader, data, at, stop, depth)
    read = reader(field.type)

    def message(data: bytes, at: int, stop: int, depth: int) -> Any:
        item: dict[str, Any] = {}
        read(item, data, at, stop, depth - 1)
        return item

    if field.form.endswith("@"):
        return lambda data, at, stop, depth: message(data, at, stop, depth).get("items", [])
    return message


def _sized(field: MessageField) -> Read:
    if field.form == "[":
        return _item(field.name, _value(field))
    if field.form.startswith("{"):
        return _entry(field.name, _value(field))
    if field.form == "^":
        embedded = reader(field.type)
        return lambda out, data, at, stop, depth: embedded(out, data, at, stop, depth - 1)
    if field.type == "string":
        return _string(field)
    if field.form == "@" or field.type in ("bytes", "data") or field.type in SPECIAL_READERS:
        return _single(field.name, _value(field))
    return _message(field.name, reader(field.type))


def _string(field: MessageField) -> Read:
    name, is_optional = field.name, field.form == "?"

    def step(out: dict[str, Any], data: bytes, at: int, stop: int, depth: int) -> None:
        if at != stop or is_optional:
            try:
                out[name] = data[at:stop].decode()
            except UnicodeDecodeError:
                out[name] = _text(data, at, stop, depth)
        elif name in out:
            del out[name]

    return step


def _message(name: str, read: Read) -> Read:
    def step(out: dict[str, Any], data: bytes, at: int, stop: int, depth: int) -> None:
        item = out.get(name)
        if item is None:
            item = out[name] = {}
        read(item, data, at, stop, depth - 1)

    return step


def _single(name: str, value: ReadValue) -> Read:
    def step(out: dict[str, Any], data: bytes, at: int, stop: int, depth: int) -> None:
        item = value(data, at, stop, depth)
        if item is not None:
            out[name] = item

    return step


def _item(name: str, value: ReadValue) -> Read:
    def step(out: dict[str, Any], data: bytes, at: int, stop: int, depth: int) -> None:
        items = out.get(name)
        if items is None:
            items = out[name] = []
        items.append(value(data, at, stop, depth))

    return step


def _entry(name: str, value: ReadValue) -> Read:
    """A map's entry is a message of its own: the key is field 1, the value field 2."""

    def step(out: dict[str, Any], data: bytes, at: int, stop: int, depth: int) -> None:
        entries = out.get(name)
        if entries is None:
            entries = out[name] = {}
        # As nearly all are: a short key, then the value, and nothing else.
        if stop - at > 3 and data[at] == 0x0A and (size := data[at + 1]) < 128:
            key_at, at_value = at + 2, at + 2 + size
            if at_value < stop - 1 and data[at_value] == 0x12:
                size = data[at_value + 1]
                item_at = at_value + 2
                if size > 127:
                    size, item_at = long_size(data, item_at, size)
                if item_at + size == stop:
                    key = _text(data, key_at, at_value, depth)
                    entries[key] = value(data, item_at, stop, depth)
                    return
        key, item_at, item_stop = _any_entry(data, at, stop)
        entries[key] = value(data, item_at, item_stop, depth)

    return step


def _any_entry(data: bytes, at: int, stop: int) -> tuple[str, int, int]:
    """The key of an entry, and where its value begins and ends."""
    key, item_at, item_stop = "", stop, stop
    while at < stop:
        tag, at = read_varint(data, at)
        if tag != 0x0A and tag != 0x12:
            at = skip(data, at, tag & 7)
            continue
        size, at = read_size(data, at)
        if at + size > stop:
            raise truncated()
        if tag == 0x0A:
            key = _text(data, at, at + size, 0)
        else:
            item_at, item_stop = at, at + size
        at += size
    if at > stop:
        raise truncated()
    return key, item_at, item_stop
