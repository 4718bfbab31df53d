"""The parts that OpenAPI documents are written with as protobuf: fields, maps of names, and values as YAML text.

Extensions (`x-…`) and other free values travel as YAML text, which JSON is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import orjson


def varint(number: int) -> bytes:
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def message(field: int, data: bytes) -> bytes:
    return varint(field << 3 | 2) + varint(len(data)) + data


def text(field: int, value: str | None) -> bytes:
    return message(field, value.encode()) if value else b""


def texts(field: int, values: Iterable[str]) -> bytes:
    return b"".join(message(field, value.encode()) for value in values)


def flag(field: int, value: bool | None) -> bytes:
    return varint(field << 3) + b"\x01" if value else b""


def any_value(value: Any) -> bytes:
    return message(2, orjson.dumps(value))


def named(field: int, pairs: Mapping[str, Any], write: Callable[[Any], bytes]) -> bytes:
    """A map: name and value, one message each."""
    return b"".join(message(field, text(1, name) + message(2, write(value))) for name, value in pairs.items())


def extensions(field: int, of: Mapping[str, Any]) -> bytes:
    return named(field, {name: value for name, value in of.items() if name.startswith("x-")}, any_value)
