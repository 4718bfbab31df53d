"""JSON values: independent copies, and how Go prints them in error messages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, cast

import orjson

from kapi.api.fields import go_quote

V = TypeVar("V", bound=Any)

_SHORT_ESCAPES = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"}


@dataclass(frozen=True, slots=True, kw_only=True)
class GoValue:
    """What JSON has no value for, as Go prints it with %v, %#v and %T."""

    plain: str
    syntax: str
    type: str

    def __str__(self) -> str:
        return self.plain


def copied(value: V) -> V:
    """A copy that shares nothing mutable with its original."""
    if isinstance(value, (dict, list)):
        try:
            return cast(V, orjson.loads(orjson.dumps(value)))
        except TypeError:  # an integer beyond 64 bits
            return cast(V, _copied_slowly(value))
    return value


def _copied_slowly(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _copied_slowly(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_copied_slowly(item) for item in value]
    return value


def same(left: Any, right: Any) -> bool:
    """Equality of JSON values: as `==`, except that true is not 1."""
    if isinstance(left, dict):
        if not isinstance(right, dict) or len(left) != len(right):
            return False
        return all(key in right and same(value, right[key]) for key, value in left.items())
    if isinstance(left, list):
        if not isinstance(right, list) or len(left) != len(right):
            return False
        return all(map(same, left, right))
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    return bool(left == right)


def go_format(value: Any) -> str:
    """As %v prints it: `map[a:1 b:[x y]]`."""
    if isinstance(value, dict):
        return "map[" + " ".join(f"{key}:{go_format(value[key])}" for key in sorted(value)) + "]"
    if isinstance(value, list):
        return "[" + " ".join(map(go_format, value)) + "]"
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, float):
        return format(value, "g") if value != int(value) or abs(value) >= 1e21 else str(int(value))
    return str(value)


def go_string(value: Any) -> str:
    """As %s prints it: what is neither text nor made of it shows that it is not."""
    if value is None:
        return "%!s(<nil>)"
    return f"%!s({go_type(value)}={go_format(value)})" if isinstance(value, (bool, int, float)) else go_format(value)


def go_syntax(value: Any) -> str:
    """As %#v prints it: `map[string]interface {}{"a":1}`."""
    if isinstance(value, dict):
        items = ", ".join(f"{go_quote(key)}:{go_syntax(value[key])}" for key in sorted(value))
        return f"map[string]interface {{}}{{{items}}}"
    if isinstance(value, list):
        return f"[]interface {{}}{{{', '.join(map(go_syntax, value))}}}"
    if value is None:
        return "interface {}(nil)"
    if isinstance(value, str):
        return go_quote(value)
    return value.syntax if isinstance(value, GoValue) else go_format(value)


def go_type(value: Any) -> str:
    """As %T prints it."""
    if isinstance(value, GoValue):
        return value.type
    if isinstance(value, dict):
        return "map[string]interface {}"
    if isinstance(value, list):
        return "[]interface {}"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if value is None:
        return "<nil>"
    return "float64" if isinstance(value, float) else "int64"


def json_type(value: Any) -> str:
    """As encoding/json names what it met: object, array, string, number, bool, null."""
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    return "null" if value is None else "number"


def json_quote(text: str) -> str:
    """A JSON string as Go writes it where it escapes HTML: short escapes for five characters, the rest by number."""
    return '"' + "".join(map(_json_escape, text)) + '"'


def _json_escape(char: str) -> str:
    if char in _SHORT_ESCAPES:
        return _SHORT_ESCAPES[char]
    if char < " " or char in "<>&\u2028\u2029":
        return f"\\u{ord(char):04x}"
    return char
