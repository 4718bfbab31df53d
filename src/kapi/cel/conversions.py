"""Conversions between types: `int(x)`, `string(x)` and so on."""

from __future__ import annotations

import base64
import math
import re
from decimal import Decimal
from typing import Any

from kapi.cel.operators import TIME_MAX, TIME_MIN, int_result, uint_result
from kapi.cel.timestamps import format_duration, format_timestamp, parse_duration, parse_timestamp
from kapi.cel.types import CelType
from kapi.cel.values import Duration, EvaluationError, Optional, Timestamp, Uint, runtime_type

_INT = re.compile(r"[+-]?[0-9]+")
_UINT = re.compile(r"[0-9]+")
_FLOAT = re.compile(
    r"[+-]?(?:[0-9]+\.?[0-9]*(?:e[+-]?[0-9]+)?|\.[0-9]+(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan"
    r"|(0x)(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)p[+-]?[0-9]+)",
    re.I,
)
# Between digits, or after the prefix of a hexadecimal number.
_UNDERSCORE = re.compile(r"(?<=[0-9a-f])_(?=[0-9a-f])|(?<=0x)_(?=[0-9a-f])", re.I)
# Python refuses to read very long numbers; none of that length fits into 64 bits.
_LONGEST = 400
_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})


def _refused(value: Any, wanted: str) -> EvaluationError:
    return EvaluationError(f"type conversion error from '{_type_name(value)}' to '{wanted}'")


def _type_name(value: Any) -> str:
    return runtime_type(value).name


def format_double(value: float) -> str:
    """As Go's %g."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "+Inf" if value > 0 else "-Inf"
    sign, digits, exponent = Decimal(repr(value)).normalize().as_tuple()
    assert isinstance(exponent, int)
    scientific = len(digits) - 1 + exponent
    if value != 0 and (scientific < -4 or scientific >= 6):
        mantissa = str(digits[0]) + ("." + "".join(map(str, digits[1:])) if len(digits) > 1 else "")
        return f"{'-' if sign else ''}{mantissa}e{scientific:+03d}"
    text = format(Decimal(repr(value)), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def to_string(value: Any) -> str:
    kind = type(value)
    if kind is str:
        return str(value)
    if kind is bool:
        return "true" if value else "false"
    if kind is int or kind is Uint:
        return int.__repr__(value)
    if kind is float:
        return format_double(value)
    if kind is bytes:
        try:
            return bytes(value).decode()
        except UnicodeDecodeError:
            raise EvaluationError("invalid UTF-8 in bytes, cannot convert to string") from None
    if kind is Timestamp:
        return format_timestamp(value)
    if kind is Duration:
        return format_duration(value)
    if kind is CelType:
        return str(value.name)
    raise _refused(value, "string")


def to_bytes(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, bytes):
        return value
    raise _refused(value, "bytes")


def to_int(value: Any) -> int:
    kind = type(value)
    if kind is int:
        return int(value)
    if kind is Uint:
        return int_result(int(value))
    if kind is float:
        if not -(2.0**63) < value < 2.0**63:
            raise EvaluationError("integer overflow")
        return int(value)
    if kind is str and len(value) < _LONGEST and _INT.fullmatch(value) and -(2**63) <= int(value) < 2**63:
        return int(value)
    if kind is Timestamp:
        return int(value.nanoseconds // 10**9)
    if kind is Duration:
        return int(value.nanoseconds)
    raise _refused(value, "int")


def to_uint(value: Any) -> Uint:
    kind = type(value)
    if kind is Uint:
        return Uint(value)
    if kind is int:
        return uint_result(value)
    if kind is float:
        if not 0 <= value < 2.0**64:
            raise EvaluationError("unsigned integer overflow")
        return Uint(int(value))
    if kind is str and len(value) < _LONGEST and _UINT.fullmatch(value) and int(value) < 2**64:
        return Uint(int(value))
    raise _refused(value, "uint")


def to_double(value: Any) -> float:
    kind = type(value)
    if kind in (float, int, Uint):
        return float(value)
    if kind is str and (found := _parse_double(value)) is not None:
        return found
    raise _refused(value, "double")


def _parse_double(text: str) -> float | None:
    """As Go's strconv.ParseFloat: a number that is too large is none."""
    plain = _UNDERSCORE.sub("", text)
    match = _FLOAT.fullmatch(plain)
    if match is None:
        return None
    try:
        value = float.fromhex(plain) if match[1] else float(plain)
    except OverflowError:
        return None
    return value if math.isfinite(value) or not any(character.isdigit() for character in plain) else None


def to_bool(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        if value in _TRUE:
            return True
        if value in _FALSE:
            return False
    raise _refused(value, "bool")


def to_duration(value: Any) -> Duration:
    if type(value) is Duration:
        return value
    found = parse_duration(value) if isinstance(value, str) else None
    if found is None:
        raise _refused(value, "google.protobuf.Duration")
    return found


def to_timestamp(value: Any) -> Timestamp:
    if type(value) is Timestamp:
        return value
    if type(value) is int:
        if not TIME_MIN <= value * 10**9 <= TIME_MAX:
            raise EvaluationError("timestamp overflow")
        return Timestamp(value * 10**9)
    found = parse_timestamp(value) if isinstance(value, str) else None
    if found is None:
        raise _refused(value, "google.protobuf.Timestamp")
    return found


def to_json(value: Any) -> Any:
    """A result as plain JSON: what a mutation writes into an object."""
    kind = type(value)
    if kind is Uint:
        return int(value)
    if isinstance(value, list):
        return [to_json(item) for item in value]
    if isinstance(value, dict):
        return {_json_key(key): to_json(item) for key, item in value.items()}
    if kind in (Timestamp, Duration, CelType):
        return to_string(value)
    if kind is bytes:
        return base64.b64encode(value).decode()
    if kind is Optional:
        return to_json(value.value) if value.present else None
    return value


def _json_key(key: Any) -> str:
    if not isinstance(key, str):
        raise EvaluationError(f"map key {to_string(key)!r} is of type {_type_name(key)}, not string")
    return key
