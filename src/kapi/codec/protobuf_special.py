"""Types whose JSON is not their message: times, quantities, numbers or strings, embedded JSON, a schema or else.

Each reads a message's bytes into a JSON value (None when Go would write null) and writes the value as the message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from functools import lru_cache
from typing import Any, TypeAlias

import orjson

from kapi.codec import json
from kapi.codec.protobuf_wire import ONE_BYTE, SIZED, Malformed, read_size, read_varint, skip, truncated, varint

# Both are given the function that makes readers or writers of messages.
ReadSpecial: TypeAlias = Callable[[Callable[[str], Any], bytes, int, int, int], Any]
WriteSpecial: TypeAlias = Callable[[Callable[[str], Any], Any], bytes]

_EPOCH = datetime(1970, 1, 1)
_UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
# Go's zero time.
_ZERO_SECONDS = -62135596800
_YEAR_10000 = 253402300800
_INT64 = 1 << 63


def sized(raw: bytes) -> bytes:
    """Bytes after their length."""
    size = len(raw)
    return (ONE_BYTE[size] if size < 128 else varint(size)) + raw


def _fields(data: bytes, at: int, stop: int) -> dict[int, Any]:
    """The fields of a small message by number: the last of each, numbers as they are, others as bytes."""
    found: dict[int, Any] = {}
    while at < stop:
        tag, at = read_varint(data, at)
        kind = tag & 7
        if kind == 0:
            found[tag >> 3], at = read_varint(data, at)
        elif kind == SIZED:
            size, at = read_size(data, at)
            found[tag >> 3] = data[at : at + size]
            at += size
        else:
            at = skip(data, at, kind)
    if at > stop:
        raise truncated()
    return found


def _first(data: bytes, at: int, stop: int, name: str) -> bytes:
    """Field 1 of a message that should have no other."""
    if stop - at > 1 and data[at] == 0x0A and data[at + 1] == stop - at - 2 < 128:
        return data[at + 2 : stop]
    return _bytes(_fields(data, at, stop), 1, name)


def _wrong(name: str) -> Malformed:
    return Malformed(f"proto: wrong wireType for field {name}")


def _number(fields: Mapping[int, Any], number: int, name: str) -> int:
    value = fields.get(number, 0)
    if value.__class__ is not int:
        raise _wrong(name)
    return value - 2 * _INT64 if value >= _INT64 else value


def _bytes(fields: Mapping[int, Any], number: int, name: str) -> bytes:
    value = fields.get(number, b"")
    if value.__class__ is not bytes:
        raise _wrong(name)
    return value


# Times


def _seconds(raw: bytes) -> tuple[datetime | None, int]:
    """The time of a Timestamp in whole seconds, None for Go's zero time; and the nanoseconds."""
    if not raw:
        return None, 0
    fields = _fields(raw, 0, len(raw))
    seconds, nanos = _number(fields, 1, "Seconds"), _number(fields, 2, "Nanos")
    if seconds == _ZERO_SECONDS and not nanos:
        return None, 0
    if not _ZERO_SECONDS <= seconds < _YEAR_10000:
        raise Malformed("Time.MarshalJSON: year outside of range [0,9999]")
    return _EPOCH + timedelta(seconds=seconds), nanos


# The same few times come again and again: an object's fields, and objects that were made together.
@lru_cache(maxsize=1024)
def _time_text(raw: bytes) -> str | None:
    when, _ = _seconds(raw)
    return None if when is None else when.isoformat() + "Z"


@lru_cache(maxsize=1024)
def _time_bytes(text: str) -> bytes:
    return b"\x08%b\x10\x00" % varint((datetime.fromisoformat(text) - _UTC_EPOCH) // _SECOND)


def _read_time(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> Any:
    return _time_text(data[at:stop])


def _write_time(writer: Callable[[str], Any], text: str) -> bytes:
    return _time_bytes(text)


def _read_micro_time(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> Any:
    when, nanos = _seconds(data[at:stop])
    if when is None:
        return None
    if not 0 <= nanos < 1_000_000_000:
        raise Malformed("proto: nanoseconds out of range")
    return when.replace(microsecond=nanos // 1000).isoformat(timespec="microseconds") + "Z"


def _write_micro_time(writer: Callable[[str], Any], text: str) -> bytes:
    when = datetime.fromisoformat(text)
    seconds = (when - _UTC_EPOCH) // _SECOND
    return b"\x08%b\x10%b" % (varint(seconds), varint(when.microsecond * 1000))


# Quantities, numbers or strings


def _read_quantity(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> str:
    return _first(data, at, stop, "String").decode("utf-8", "replace") if at != stop else "0"


def _write_quantity(writer: Callable[[str], Any], text: str) -> bytes:
    return b"\n" + sized(text.encode())


def _read_int_or_string(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> int | str:
    fields = _fields(data, at, stop)
    if _number(fields, 1, "Type"):
        return _bytes(fields, 3, "StrVal").decode("utf-8", "replace")
    return _number(fields, 2, "IntVal")


def _write_int_or_string(writer: Callable[[str], Any], value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00\x1a" + sized(value.encode())
    return b"\x08\x00\x10%b\x1a\x00" % varint(value)


# JSON within


def _read_raw(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> Any:
    raw = _first(data, at, stop, "Raw")
    if not raw:
        return None
    try:
        return json.loads(raw)
    except json.JSONError as error:
        raise Malformed(str(error)) from None


def _write_raw(writer: Callable[[str], Any], value: Any) -> bytes:
    return b"\n" + sized(orjson.dumps(value))


# Schemas or something else


def _message(reader: Callable[[str], Any], name: str, data: bytes, at: int, stop: int, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    reader(name)(out, data, at, stop, depth - 1)
    return out


def _read_schema_or_bool(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> Any:
    found = _message(reader, "schema-or-bool", data, at, stop, depth)
    return found.get("schema", found.get("allows", False))


def _read_schema_or_array(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> Any:
    found = _message(reader, "schema-or-array", data, at, stop, depth)
    return found.get("schemas") or found.get("schema")


def _read_schema_or_strings(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> Any:
    found = _message(reader, "schema-or-strings", data, at, stop, depth)
    return found.get("property") or found.get("schema")


def _write_schema_or_bool(writer: Callable[[str], Any], value: Any) -> bytes:
    schema = {"allows": True, "schema": value} if isinstance(value, dict) else {"allows": value}
    written: bytes = writer("schema-or-bool")(schema)
    return written


def _write_schema_or_array(writer: Callable[[str], Any], value: Any) -> bytes:
    written: bytes = writer("schema-or-array")({"schema" if isinstance(value, dict) else "schemas": value})
    return written


def _write_schema_or_strings(writer: Callable[[str], Any], value: Any) -> bytes:
    written: bytes = writer("schema-or-strings")({"schema" if isinstance(value, dict) else "property": value})
    return written


SPECIAL_READERS: Mapping[str, ReadSpecial] = {
    "time": _read_time,
    "micro-time": _read_micro_time,
    "quantity": _read_quantity,
    "int-or-string": _read_int_or_string,
    "raw": _read_raw,
    "schema-or-bool": _read_schema_or_bool,
    "schema-or-array": _read_schema_or_array,
    "schema-or-strings": _read_schema_or_strings,
}

SPECIAL_WRITERS: Mapping[str, WriteSpecial] = {
    "time": _write_time,
    "micro-time": _write_micro_time,
    "quantity": _write_quantity,
    "int-or-string": _write_int_or_string,
    "raw": _write_raw,
    "schema-or-bool": _write_schema_or_bool,
    "schema-or-array": _write_schema_or_array,
    "schema-or-strings": _write_schema_or_strings,
}

# What Go writes for a field that is not set and no pointer; nothing for those not named.
SPECIAL_ZEROS: Mapping[str, bytes] = {"quantity": b"\n\x010", "int-or-string": b"\x08\x00\x10\x00\x1a\x00"}
