"""What the text of a literal means: numbers within 64 bits, escapes in strings and bytes."""

from __future__ import annotations

import math
import re

from kapi.cel.values import INT_MAX, INT_MIN, UINT_MAX, Uint

_SIMPLE = {
    "a": "\a", "b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "v": "\v",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "?": "?",
}  # fmt: skip
# Longer numbers do not fit into 64 bits, and Python refuses to read very long ones.
_LONGEST = 400
OUT_OF_RANGE = 2**64
_ESCAPE = re.compile(r"\\([abfnrtv\\'\"`?]|[0-3][0-7]{2}|[xX].{2}|u.{4}|U.{8})", re.DOTALL)


def parse_int(text: str) -> int | None:
    value = _number(text)
    return value if INT_MIN <= value <= INT_MAX else None


def parse_uint(text: str) -> Uint | None:
    value = _number(text[:-1])
    return Uint(value) if value <= UINT_MAX else None


def parse_double(text: str) -> float | None:
    value = float(text)
    return value if math.isfinite(value) else None


def _number(text: str) -> int:
    digits = text.lstrip("-")
    if len(digits) > _LONGEST:
        return OUT_OF_RANGE
    value = int(digits[2:], 16) if digits.startswith("0x") else int(digits)
    return -value if text.startswith("-") else value


def unquote_string(text: str) -> str:
    """Raise ValueError, with cel-go's words, where an escape is not a character."""
    body, raw = _body(text)
    return body if raw else _ESCAPE.sub(_string_escape, body)


def unquote_bytes(text: str) -> bytes:
    body, raw = _body(text[1:])
    if raw:
        return body.encode()
    result = bytearray()
    position = 0
    for match in _ESCAPE.finditer(body):
        result += body[position : match.start()].encode()
        result += _byte_escape(match.group(1))
        position = match.end()
    return bytes(result + body[position:].encode())


def _body(text: str) -> tuple[str, bool]:
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    raw = text[0] in "rR"
    if raw:
        text = text[1:]
    width = 3 if len(text) >= 6 and text[:3] in ("'''", '"""') else 1
    return text[width:-width], raw


def _string_escape(match: re.Match[str]) -> str:
    code = match.group(1)
    if code in _SIMPLE:
        return _SIMPLE[code]
    value = int(code[1:], 16) if code[0] in "xXuU" else int(code, 8)
    if value > 0x10FFFF or 0xD800 <= value <= 0xDFFF:
        raise ValueError("invalid unicode code point")
    return chr(value)


def _byte_escape(code: str) -> bytes:
    if code in _SIMPLE:
        return _SIMPLE[code].encode()
    if code[0] in "uU":
        raise ValueError("unable to unescape string")
    return bytes([int(code[1:], 16) if code[0] in "xX" else int(code, 8)])
