"""What is wrong with a JSON text, in the words of Go's scanner. Runs only when the fast parser has refused the text.

The scanner keeps its own stack, so that no nesting can exhaust Python's. Like Go's it reads a space after the end: a
text that ends amid a literal, a number or an escape is told of that space.
"""

from __future__ import annotations

import re

# Upstream stops at 10,000. What is deeper than this could not be written again by the encoder.
MAX_DEPTH = 240

_SPACE = re.compile(rb"[ \t\r\n]*")
_STRING = re.compile(rb'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*)*+')
_NUMBER = re.compile(rb"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?")
_END = "unexpected end of JSON input"
_LITERALS = {0x74: b"true", 0x66: b"false", 0x6E: b"null"}
_NUMBER_STARTS = frozenset(b"-0123456789")


class _Bad(Exception):
    pass


def syntax_error(data: bytes) -> str | None:
    """Go's message about the first thing that is wrong; None for a text that Go takes."""
    try:
        _scan(data)
    except _Bad as bad:
        return str(bad)
    return None


def _scan(data: bytes) -> None:
    stack: list[int] = []
    position = _value(data, _skip(data, 0), stack)
    while stack:
        position = _skip(data, position)
        if stack[-1] == 0x7B:
            position = _after_member(data, position, stack)
        else:
            position = _after_element(data, position, stack)
    position = _skip(data, position)
    if position < len(data):
        raise _unexpected(data, position, "after top-level value")


def _value(data: bytes, position: int, stack: list[int]) -> int:
    """Past a scalar, or past the opening of a container and its first value."""
    while True:
        byte = _byte(data, position)
        if byte == 0x22:
            return _string(data, position)
        if byte in _NUMBER_STARTS:
            return _number(data, position)
        if byte in _LITERALS:
            return _literal(data, position, _LITERALS[byte])
        if byte not in b"{[":
            raise _unexpected(data, position, "looking for beginning of value")
        stack.append(byte)
        if len(stack) > MAX_DEPTH:
            raise _unexpected(data, position, "exceeded max depth")
        position = _skip(data, position + 1)
        closing = 0x7D if byte == 0x7B else 0x5D
        if _byte(data, position) == closing:
            stack.pop()
            return position + 1
        if byte == 0x7B:
            position = _skip(data, _key(data, position))


def _after_member(data: bytes, position: int, stack: list[int]) -> int:
    byte = _byte(data, position)
    if byte == 0x7D:
        stack.pop()
        return position + 1
    if byte != 0x2C:
        raise _unexpected(data, position, "after object key:value pair")
    return _value(data, _skip(data, _key(data, _skip(data, position + 1))), stack)


def _after_element(data: bytes, position: int, stack: list[int]) -> int:
    byte = _byte(data, position)
    if byte == 0x5D:
        stack.pop()
        return position + 1
    if byte != 0x2C:
        raise _unexpected(data, position, "after array element")
    return _value(data, _skip(data, position + 1), stack)


def _key(data: bytes, position: int) -> int:
    """Past a key and its colon."""
    if _byte(data, position) != 0x22:
        raise _unexpected(data, position, "looking for beginning of object key string")
    position = _skip(data, _string(data, position))
    if _byte(data, position) != 0x3A:
        raise _unexpected(data, position, "after object key")
    return position + 1


def _string(data: bytes, position: int) -> int:
    match = _STRING.match(data, position)
    assert match is not None
    end = match.end()
    byte = _byte(data, end)
    if byte == 0x22:
        return end + 1
    if byte != 0x5C:
        raise _unexpected(data, end, "in string literal")
    if _byte_or_space(data, end + 1) != 0x75:
        raise _unexpected(data, end + 1, "in string escape code")
    end += 2
    while _byte_or_space(data, end) in b"0123456789abcdefABCDEF":
        end += 1
    raise _unexpected(data, end, "in \\u hexadecimal character escape")


def _number(data: bytes, position: int) -> int:
    match = _NUMBER.match(data, position)
    if match is None:
        raise _unexpected(data, position + 1, "in numeric literal")
    end = match.end()
    if end < len(data) and data[end] == 0x2E and b"." not in match[0] and b"e" not in match[0].lower():
        raise _unexpected(data, end + 1, "after decimal point in numeric literal")
    if end < len(data) and data[end] in b"eE" and b"e" not in match[0].lower():
        end += 1
        if _byte_or_space(data, end) in b"+-":
            end += 1
        raise _unexpected(data, end, "in exponent of numeric literal")
    return end


def _literal(data: bytes, position: int, literal: bytes) -> int:
    for offset in range(1, len(literal)):
        if _byte_or_space(data, position + offset) != literal[offset]:
            raise _unexpected(
                data, position + offset, f"in literal {literal.decode()} (expecting {chr(literal[offset])!r})"
            )
    return position + len(literal)


def _skip(data: bytes, position: int) -> int:
    match = _SPACE.match(data, position)
    return match.end() if match is not None else position


def _byte(data: bytes, position: int) -> int:
    if position >= len(data):
        raise _Bad(_END)
    return data[position]


def _byte_or_space(data: bytes, position: int) -> int:
    return data[position] if position < len(data) else 0x20


def _unexpected(data: bytes, position: int, context: str) -> _Bad:
    return _Bad(f"invalid character {_quote(_byte_or_space(data, position))} {context}")


def _quote(byte: int) -> str:
    """A byte as Go quotes it: taken for a character of its own."""
    if byte == 0x27:
        return r"'\''"
    if byte == 0x22:
        return "'\"'"
    named = {7: r"\a", 8: r"\b", 9: r"\t", 10: r"\n", 11: r"\v", 12: r"\f", 13: r"\r", 0x5C: r"\\"}.get(byte)
    if named is not None:
        return f"'{named}'"
    if byte < 0x20 or byte == 0x7F:
        return f"'\\x{byte:02x}'"
    if 0x7F < byte <= 0xA0 or byte == 0xAD:
        return f"'\\u{byte:04x}'"
    return f"'{chr(byte)}'"
