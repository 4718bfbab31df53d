"""JSON in and out. The fast parser reads everything; what it refuses is looked at again, with Go's eyes.

Go forgives what the fast parser does not (invalid UTF-8 and lone surrogates become U+FFFD), words its errors
differently, and notices duplicate keys. None of this costs a well-formed body more than counting its colons.
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

import orjson

from kapi.codec.json_syntax import MAX_DEPTH, syntax_error

_SPACED_COLON = re.compile(rb'"[ \t\r\n]+:')
_INVALID_BYTE = re.compile("[\udc80-\udcff]")
_ESCAPE = re.compile(r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|u[dD][89a-fA-F][0-9a-fA-F]{2}|.)")
_INT64_DIGITS = 18


class JSONError(ValueError):
    """The text is no JSON; the message is Go's."""


class Number(float):
    """A number that remembers how it was written."""

    text: str

    def __new__(cls, text: str) -> Number:
        number = super().__new__(cls, text)
        number.text = text
        return number


class Pairs(list[tuple[str, Any]]):
    """An object with all its members, duplicates included, in the order of the text."""


def dumps(value: Any) -> bytes:
    return orjson.dumps(value)


def loads(data: bytes) -> Any:
    """The value of a JSON text; JSONError with Go's message."""
    value, exactly = parse(data)
    if exactly and (number := first_infinite(value)):
        raise JSONError(f"json: cannot unmarshal number {number} into Go value of type float64")
    return value


def parse(data: bytes) -> tuple[Any, bool]:
    """The value, and whether only the exact parser would read it: then it may hold Numbers that no float can."""
    try:
        value = orjson.loads(data)
    except orjson.JSONDecodeError:
        return loads_exactly(data), True
    if data.count(b"{") + data.count(b"[") > MAX_DEPTH:
        check_depth(value, data)
    return value, False


def loads_exactly(data: bytes, *, pairs: bool = False, keep_text: bool = False, is_valid: bool = False) -> Any:
    """The value of a JSON text as Go takes it; a text that `parse` has read is known to be valid.

    Numbers beyond all bounds become Numbers; with keep_text all but integers do.
    """
    if not is_valid and (message := syntax_error(data)) is not None:
        raise JSONError(message)
    text = data.decode("utf-8", "surrogateescape")
    text = _INVALID_BYTE.sub("\ufffd", text)
    if "\\u" in text:
        text = _ESCAPE.sub(_repair_surrogate, text)
    return json.loads(
        text,
        parse_float=Number if keep_text else _float,
        parse_int=_integer_or_text if keep_text else _integer,
        object_pairs_hook=Pairs if pairs else None,
    )


def has_duplicates(data: bytes, value: Any) -> bool:
    """Whether the text may have duplicate keys: it has more keys than its value. Errs only towards yes."""
    if _SPACED_COLON.search(data):
        return True
    colons = data.count(b'":')
    if b'\\"' in data:
        # A key that ends in a backslash looks like an escaped quote; the exact way must decide.
        if b'\\\\"' in data:
            return True
        colons -= data.count(b'\\":')
    return colons != count_keys(value)


def count_keys(value: Any) -> int:
    """How many members all objects in a value have."""
    if value.__class__ is not dict and value.__class__ is not list:
        return 0
    total = len(value) if value.__class__ is dict else 0
    for item in value.values() if value.__class__ is dict else value:
        kind = item.__class__
        if kind is dict or (kind is list and item):
            total += count_keys(item)
    return total


def check_depth(value: Any, data: bytes = b"") -> None:
    """Level by level, so that the depth of the value is no danger to the check."""
    level = [value] if value.__class__ in (dict, list) else []
    for _ in range(MAX_DEPTH):
        level = [
            child
            for container in level
            for child in (container.values() if container.__class__ is dict else container)
            if child.__class__ is dict or child.__class__ is list
        ]
        if not level:
            return
    raise JSONError(syntax_error(data) or "exceeded max depth")


def first_infinite(value: Any) -> str:
    """The text of a number in it that no float can hold; empty when there is none."""
    level = [value]
    while level:
        below: list[Any] = []
        for item in level:
            if item.__class__ is Number and item in (math.inf, -math.inf):
                return str(item.text)
            if item.__class__ is dict:
                below.extend(item.values())
            elif item.__class__ is list:
                below.extend(item)
        level = below
    return ""


def _float(text: str) -> float:
    number = float(text)
    return Number(text) if number in (math.inf, -math.inf) else number


def _integer(text: str) -> int | float:
    if len(text) <= _INT64_DIGITS:
        return int(text)
    number = int(text) if len(text) <= 2 * _INT64_DIGITS else 1 << 64
    return number if -(1 << 63) <= number < 1 << 64 else _float(text)


def _integer_or_text(text: str) -> int | float:
    number = _integer(text)
    return number if number.__class__ is int else Number(text)


def _repair_surrogate(match: re.Match[str]) -> str:
    escape = match[0]
    if len(escape) == 6 and escape[1] == "u":
        return "\\ufffd"
    return escape
