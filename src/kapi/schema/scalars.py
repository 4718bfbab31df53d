"""Scalars as Go's decoder takes them: ranges, and the types that read and write JSON in their own way."""

from __future__ import annotations

import binascii
from base64 import b64encode
from collections.abc import Callable
from typing import Any, TypeAlias

from kapi.api.quantity import QuantityError, canonical
from kapi.api.times import TimeError, canonical_micro_time, canonical_time
from kapi.schema.errors import TypeMismatch
from kapi.schema.types import Type

# Stands for a value that Go's codec takes for not set, such as the zero time.
ABSENT = object()

Check: TypeAlias = Callable[[Any, list[str]], Any]

_ALPHABET = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")


def scalar(type_: Type) -> tuple[type | None, Check | None, Any]:
    """The class of values, the check they must pass (if any) and the zero value."""
    special = _SPECIAL.get(type_.format)
    if special is not None:
        return special
    if type_.kind == "string":
        return str, None, ""
    if type_.kind == "boolean":
        return bool, None, False
    if type_.kind == "integer":
        return None, _int64, 0
    return None, None, None


def number_text(value: int | float) -> str:
    """A number as it stood in the text; codec.exact hands in numbers that still know."""
    return getattr(value, "text", None) or repr(value)


def _int32(value: Any, problems: list[str]) -> Any:
    if value.__class__ is int and -0x80000000 <= value <= 0x7FFFFFFF:
        return value
    raise _no_integer(value, "int32")


def _int64(value: Any, problems: list[str]) -> Any:
    if value.__class__ is int and -0x8000000000000000 <= value <= 0x7FFFFFFFFFFFFFFF:
        return value
    raise _no_integer(value, "int64")


def _no_integer(value: Any, go_type: str) -> TypeMismatch:
    number = number_text(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else ""
    return TypeMismatch(value, go_type, number=number)


def _double(value: Any, problems: list[str]) -> Any:
    if value.__class__ is float:
        # As Go writes floats: without a fraction when there is none.
        return int(value) if value.is_integer() and abs(value) < 1e21 else value
    if value.__class__ is int:
        return value
    if isinstance(value, float):
        return float(value)
    raise TypeMismatch(value, "float64")


def _quantity(value: Any, problems: list[str]) -> str:
    # Numbers are read by their text, as are strings; everything else is no quantity.
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        value = number_text(value)
    try:
        return canonical(value.strip() if isinstance(value, str) else "?")
    except QuantityError as error:
        raise TypeMismatch.plainly(str(error)) from None


def _time(value: Any, problems: list[str]) -> Any:
    if value.__class__ is not str:
        raise TypeMismatch(value, "string")
    try:
        return canonical_time(value) or ABSENT
    except TimeError as error:
        raise TypeMismatch.plainly(str(error)) from None


def _micro_time(value: Any, problems: list[str]) -> Any:
    if value.__class__ is not str:
        raise TypeMismatch(value, "string")
    try:
        return canonical_micro_time(value) or ABSENT
    except TimeError as error:
        raise TypeMismatch.plainly(str(error)) from None


def _int_or_string(value: Any, problems: list[str]) -> Any:
    return value if value.__class__ is str else _int32(value, problems)


def _bytes(value: Any, problems: list[str]) -> str:
    if value.__class__ is str:
        try:
            return b64encode(binascii.a2b_base64(value, strict_mode=True)).decode()
        except ValueError:
            return _lenient_base64(value)
    if value.__class__ is not list:
        raise TypeMismatch(value, "[]uint8")
    # As Go reads an array of numbers: null leaves a zero.
    numbers = [0 if item is None else item for item in value]
    for number in numbers:
        if number.__class__ is not int or not 0 <= number <= 255:
            raise _no_integer(number, "uint8")
    return b64encode(bytes(numbers)).decode()


def _lenient_base64(text: str) -> str:
    """As Go's decoder: line ends are skipped; what else is wrong is reported by the byte it is at."""
    raw = text.encode()
    at = _first_corrupt_byte(raw)
    if at is not None:
        raise TypeMismatch.plainly(f"illegal base64 data at input byte {at}")
    return b64encode(binascii.a2b_base64(raw.translate(None, b"\r\n"))).decode()


def _first_corrupt_byte(raw: bytes) -> int | None:
    filled = position = 0
    while position < len(raw):
        byte = raw[position]
        if byte in _ALPHABET:
            filled = (filled + 1) % 4
        elif byte == 0x3D:
            return _bad_padding(raw, position, filled)
        elif byte not in b"\r\n":
            return position
        position += 1
    return len(raw) - filled if filled else None


def _bad_padding(raw: bytes, position: int, filled: int) -> int | None:
    """What is wrong with the padding that starts here, after so many characters of a group of four."""
    if filled < 2:
        return position
    after = position + 1
    if filled == 2:
        while after < len(raw) and raw[after] in b"\r\n":
            after += 1
        if after == len(raw):
            return len(raw)
        if raw[after] != 0x3D:
            return after - 1
        after += 1
    while after < len(raw) and raw[after] in b"\r\n":
        after += 1
    return after if after < len(raw) else None


_SPECIAL: dict[str, tuple[type | None, Check | None, Any]] = {
    "int32": (None, _int32, 0),
    "int64": (None, _int64, 0),
    "double": (None, _double, 0),
    "byte": (None, _bytes, None),
    "quantity": (None, _quantity, "0"),
    "date-time": (None, _time, None),
    "micro-time": (None, _micro_time, None),
    "int-or-string": (None, _int_or_string, 0),
}
