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
from kapi.codec.protobuf_wire import ONE_BYTE, Malformed, varint

# Both are given the function that makes readers or writers of messages.
ReadSpecial: TypeAlias = Callable[[Callable[[str], Any], bytes, int, int, int], Any]
WriteSpecial: TypeAlias = Callable[[Callable[[str], Any], Any], bytes]

_EPOCH = datetime(1970, 1, 1)
_UTC_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SECOND = timedelta(seconds=1)
# Go's zero time.
_ZERO_SECONDS = -62135596800
_YEAR_10000 = 253402300800
_OUT_OF_RANGE = "Time.MarshalJSON: year outside of range [0,9999]"


def sized(raw: bytes) -> bytes:
    """Bytes after their length."""
    size = len(raw)
    return (ONE_BYTE[size] if size < 128 else varint(size)) + raw


def _message(reader: Callable[[str], Any], name: str, data: bytes, at: int, stop: int, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    reader(name)(out, data, at, stop, depth - 1)
    return out


def _only(data: bytes, at: int, stop: int) -> bytes | None:
    """Field 1 of a short message that has no other, as nearly all have; None when this one must be read properly."""
    if stop - at > 1 and data[at] == 0x0A and data[at + 1] == stop - at - 2 < 128:
        return data[at + 2 : stop]
    return None


# Times


def _when(found: Mapping[str, int]) -> datetime | None:
    """The whole seconds of a Timestamp; None for Go's zero time."""
    seconds = found.get("seconds", 0)
    if seconds == _ZERO_SECONDS and not found.get("nanos"):
        return None
    if not _ZERO_SECONDS <= seconds < _YEAR_10000:
        raise Malformed(_OUT_OF_RANGE)
    return _EPOCH + timedelta(seconds=seconds)


# The same few times come again and again: an object's fields, and objects that were made together.
@lru_cache(maxsize=1024)
def _time_text(reader: Callable[[str], Any], raw: bytes) -> str | None:
    found = _message(reader, "Timestamp", raw, 0, len(raw), 1)
    # As Go's Time: a fraction that protobuf could carry is lost.
    when = _when({"seconds": found.get("seconds", 0)}) if raw else None
    return None if when is None else when.isoformat() + "Z"


@lru_cache(maxsize=1024)
def _time_bytes(text: str) -> bytes:
    return b"\x08%b\x10\x00" % varint((datetime.fromisoformat(text) - _UTC_EPOCH) // _SECOND)


def _read_time(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> Any:
    return _time_text(reader, data[at:stop])


def _write_time(writer: Callable[[str], Any], text: str) -> bytes:
    return _time_bytes(text)


def _read_micro_time(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> Any:
    found = _message(reader, "Timestamp", data, at, stop, depth)
    when = _when(found) if at != stop else None
    if when is None:
        return None
    try:
        when += timedelta(microseconds=found.get("nanos", 0) // 1000)
    except OverflowError:
        raise Malformed(_OUT_OF_RANGE) from None
    return when.isoformat(timespec="microseconds") + "Z"


def _write_micro_time(writer: Callable[[str], Any], text: str) -> bytes:
    when = datetime.fromisoformat(text)
    seconds = (when - _UTC_EPOCH) // _SECOND
    return b"\x08%b\x10%b" % (varint(seconds), varint(when.microsecond * 1000))


# Quantities, numbers or strings


def _read_quantity(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> str:
    short = _only(data, at, stop)
    if short is not None and short.isascii():
        return short.decode()
    text: str = _message(reader, "Quantity", data, at, stop, depth).get("string", "0")
    return text


def _write_quantity(writer: Callable[[str], Any], text: str) -> bytes:
    return b"\n" + sized(text.encode())


def _read_int_or_string(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> int | str:
    found = _message(reader, "IntOrString", data, at, stop, depth)
    value: int | str = found.get("strVal", "") if found.get("type") else found.get("intVal", 0)
    return value


def _write_int_or_string(writer: Callable[[str], Any], value: int | str) -> bytes:
    if isinstance(value, str):
        return b"\x08\x01\x10\x00\x1a" + sized(value.encode())
    return b"\x08\x00\x10%b\x1a\x00" % varint(value)


# JSON within


def _read_raw(reader: Callable[[str], Any], data: bytes, at: int, stop: int, depth: int) -> Any:
    raw = _only(data, at, stop)
    if raw is None:
        raw = _message(reader, "RawExtension", data, at, stop, depth).get("raw")
    if not raw:
        return None
    try:
        return json.loads(raw)
    except json.JSONError as error:
        raise Malformed(str(error)) from None


def _write_raw(writer: Callable[[str], Any], value: Any) -> bytes:
    return b"\n" + sized(orjson.dumps(value))


# Schemas or something else


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
