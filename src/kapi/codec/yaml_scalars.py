"""What plain YAML scalars mean: YAML 1.1 as go-yaml v2 reads it. Timestamps stay text."""

from __future__ import annotations

import binascii
import json
import math
import re
from typing import Any

_WORDS: dict[str, Any] = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
    **dict.fromkeys(("", "~", "null", "Null", "NULL"), None),
}
_BEYOND = {
    **dict.fromkeys((".nan", ".NaN", ".NAN"), "NaN"),
    **dict.fromkeys((".inf", ".Inf", ".INF", "+.inf", "+.Inf", "+.INF"), "+Inf"),
    **dict.fromkeys(("-.inf", "-.Inf", "-.INF"), "-Inf"),
}
_INTEGER = re.compile(r"[-+]?(?:0[xX][0-9a-fA-F]+|0[bB][01]+|0[oO]?[0-7]+|0|[1-9][0-9]*)", re.ASCII)
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?", re.ASCII)
_OLD_OCTAL = re.compile(r"([-+]?)0([0-7]+)", re.ASCII)
_TAG = "tag:yaml.org,2002:"
_MAX_DIGITS = 400


class Bad(Exception):
    """A scalar that has no JSON form."""


def resolve(text: str, tag: str | None, *, is_plain: bool) -> Any:
    """The value of a scalar."""
    if tag is not None and tag != "!":
        return _tagged(text, tag)
    return _plain(text) if is_plain and tag is None else text


def is_plain_text(text: str) -> bool:
    """Whether a plain scalar of this text would be read as the same text."""
    return text not in _BEYOND and _plain(text) == text and text.__class__ is str and text != "<<"


def text_of_key(key: Any) -> tuple[str, str]:
    """A key as JSON has it, and as Go prints it."""
    if key.__class__ is str:
        return key, json.dumps(key, ensure_ascii=False)
    if key.__class__ is bool:
        return ("true", "true") if key else ("false", "false")
    if key.__class__ is int or key.__class__ is float:
        text = f"{key:g}" if key.__class__ is float else str(key)
        return text, text
    if key is None:
        raise Bad("unsupported map key of type: %!s(<nil>), key: <nil>")
    raise Bad(f"yaml: invalid map key: {'map[]' if isinstance(key, dict) else '[]'}")


def _plain(text: str) -> Any:
    if text in _WORDS:
        return _WORDS[text]
    first = text[0]
    if first not in "+-.0123456789":
        return text
    if text in _BEYOND:
        raise Bad(f"json: unsupported value: {_BEYOND[text]}")
    bare = text.replace("_", "")
    if len(bare) > _MAX_DIGITS:
        return text
    if _INTEGER.fullmatch(bare):
        octal = _OLD_OCTAL.fullmatch(bare)
        number = int(octal[1] + octal[2], 8) if octal else int(bare, 0)
        if -(1 << 63) <= number < 1 << 64:
            return number
    if _FLOAT.fullmatch(bare if first != "." else text):
        real = float(bare)
        if math.isinf(real):
            return text
        return int(real) if real.is_integer() and abs(real) < 1e15 else real
    return text


def _tagged(text: str, tag: str) -> Any:
    name = tag.removeprefix(_TAG)
    if name == "binary":
        try:
            return binascii.a2b_base64(text).decode("utf-8", "replace")
        except ValueError:
            raise Bad("yaml: !!binary value contains invalid base64 data") from None
    if name not in ("int", "float", "bool", "null"):
        return text
    value = _plain(text)
    kinds: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,), "null": (type(None),)}
    if not isinstance(value, kinds[name]) or (value.__class__ is bool) != (name == "bool"):
        raise Bad(f"yaml: cannot decode !!str `{text[:7]}` as a !!{name}")
    return value
