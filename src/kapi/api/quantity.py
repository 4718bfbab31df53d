"""Quantities: fixed-point numbers with a decimal or binary suffix, read and written as Kubernetes does.

A quantity is `unscaled * 10**exponent`, exactly. Nothing smaller than a nano unit exists: what is smaller rounds away
from zero. It is written in canonical form (no fraction, the largest suffix that keeps it whole), except that text which
upstream takes for canonical enough, such as `1.234`, is kept as it came.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import Literal, TypeAlias

Format: TypeAlias = Literal["DecimalSI", "BinarySI", "DecimalExponent"]

_SYNTAX = re.compile(r"([+-]?)0*([0-9]*)(?:(\.)([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)", re.ASCII)
_EXPONENT = re.compile(r"[eE]([-+]?[0-9]+)", re.ASCII)
_DECIMAL = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_DECIMAL_SUFFIXES = {exponent: suffix for suffix, exponent in _DECIMAL.items()}
_BINARY_SUFFIXES = {power // 10: suffix for suffix, power in _BINARY.items()}

_NANO = -9
_MAX_INT64 = (1 << 63) - 1
_INT64_DIGITS = 18
# Upstream knows no bounds; past these, an exponent or a run of digits would only serve to make arithmetic slow.
_MAX_EXPONENT = 1000
_MAX_LENGTH = 1000

WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
WRONG_SUFFIX = "unable to parse quantity's suffix"
WRONG_NUMBER = "unable to parse numeric part of quantity"


class QuantityError(ValueError):
    """The text is no quantity; the message is upstream's."""


class Quantity:
    """An exact amount and the way it is written. Immutable; arithmetic returns new ones."""

    __slots__ = ("_text", "exponent", "format", "unscaled")

    def __init__(self, unscaled: int, exponent: int = 0, format: Format = "DecimalSI", text: str = "") -> None:
        self.unscaled = unscaled
        self.exponent = exponent
        self.format: Format = format
        self._text = text

    @classmethod
    def parse(cls, text: str) -> Quantity:
        return _parse(text)

    def __str__(self) -> str:
        if not self._text:
            self._text = _canonical(self)
        return self._text

    def __repr__(self) -> str:
        return f"Quantity({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and self.compare(other) == 0

    def __hash__(self) -> int:
        return hash(self.as_fraction())

    def __lt__(self, other: Quantity) -> bool:
        return self.compare(other) < 0

    def __le__(self, other: Quantity) -> bool:
        return self.compare(other) <= 0

    def __gt__(self, other: Quantity) -> bool:
        return self.compare(other) > 0

    def __ge__(self, other: Quantity) -> bool:
        return self.compare(other) >= 0

    def __bool__(self) -> bool:
        return self.unscaled != 0

    def __add__(self, other: Quantity) -> Quantity:
        """The sum, in this quantity's format; in the other's when this one is zero."""
        left, right, exponent = _aligned(self, other)
        return Quantity(left + right, exponent, self.format if self.unscaled else other.format)

    def __sub__(self, other: Quantity) -> Quantity:
        left, right, exponent = _aligned(self, other)
        return Quantity(left - right, exponent, self.format if self.unscaled else other.format)

    def __neg__(self) -> Quantity:
        return Quantity(-self.unscaled, self.exponent, self.format)

    def compare(self, other: Quantity) -> int:
        left, right, _ = _aligned(self, other)
        return (left > right) - (left < right)

    @property
    def sign(self) -> int:
        return (self.unscaled > 0) - (self.unscaled < 0)

    def as_fraction(self) -> Fraction:
        return Fraction(self.unscaled) * Fraction(10) ** self.exponent

    def scaled(self, scale: int) -> int:
        """In units of 10**scale, rounded away from zero."""
        return _round(self.unscaled, self.exponent - scale)

    @property
    def value(self) -> int:
        """In whole units, rounded away from zero."""
        return self.scaled(0)

    @property
    def milli_value(self) -> int:
        return self.scaled(-3)

    def round_up(self, scale: int) -> Quantity:
        """Away from zero to a multiple of 10**scale; the same text where nothing is lost."""
        if self.exponent >= scale:
            return self
        return Quantity(self.scaled(scale), scale, self.format)


def canonical(text: str) -> str:
    """The text as it is written back; QuantityError when it is no quantity."""
    return str(_parse(text))


@lru_cache(maxsize=4096)
def _parse(text: str) -> Quantity:
    match = _SYNTAX.fullmatch(text)
    if match is None or not text:
        raise QuantityError(WRONG_FORMAT)
    if len(text) > _MAX_LENGTH:
        raise QuantityError(WRONG_NUMBER)
    sign = -1 if match[1] == "-" else 1
    whole, fraction, suffix = match[2] or "0", match[4] or "", match[5]
    if suffix in _DECIMAL:
        return _decimal(text, sign, whole, fraction, _DECIMAL[suffix], "DecimalSI")
    if suffix in _BINARY:
        return _binary(text, sign, whole, fraction, _BINARY[suffix])
    exponent = _EXPONENT.fullmatch(suffix)
    if exponent is None or len(exponent[1]) > 5 or abs(int(exponent[1])) > _MAX_EXPONENT:
        raise QuantityError(WRONG_SUFFIX)
    return _decimal(text, sign, whole, fraction, int(exponent[1]), "DecimalExponent")


def _decimal(text: str, sign: int, whole: str, fraction: str, exponent: int, format: Format) -> Quantity:
    digits = whole + fraction
    scale = exponent - len(fraction)
    unscaled = sign * int(digits)
    if len(digits) <= _INT64_DIGITS and scale >= _NANO:
        kept = scale % 3 == 0 and not digits.endswith("000") and digits[0] != "0"
        return Quantity(unscaled, scale, format, text if kept else "")
    if scale < _NANO:
        unscaled, scale = _round(unscaled, scale - _NANO), _NANO
    return Quantity(unscaled, scale, format)


def _binary(text: str, sign: int, whole: str, fraction: str, power: int) -> Quantity:
    value = int(whole)
    if not fraction and 14 - len(whole) - int(power * 3 / 10) >= 0:
        return Quantity(sign * (value << power), 0, "BinarySI", text if value & 7 else "")
    unscaled, scale = int(whole + fraction) << power, -len(fraction)
    if scale < _NANO:
        unscaled, scale = _round(unscaled, scale - _NANO), _NANO
    one = 10**-scale
    if unscaled > _MAX_INT64 * one:
        unscaled, scale = _MAX_INT64, 0
    format: Format = "DecimalSI" if 0 < unscaled < one else "BinarySI"
    return Quantity(sign * unscaled, scale, format)


def _round(unscaled: int, exponent: int) -> int:
    """unscaled * 10**exponent as an integer, away from zero."""
    if exponent >= 0:
        return unscaled * 10**exponent  # type: ignore[no-any-return]
    quotient, rest = divmod(abs(unscaled), 10**-exponent)
    return (quotient + bool(rest)) * (-1 if unscaled < 0 else 1)  # type: ignore[no-any-return]


def _aligned(left: Quantity, right: Quantity) -> tuple[int, int, int]:
    exponent = min(left.exponent, right.exponent)
    return (
        left.unscaled * 10 ** (left.exponent - exponent),
        right.unscaled * 10 ** (right.exponent - exponent),
        exponent,
    )


def _canonical(quantity: Quantity) -> str:
    if not quantity.unscaled:
        return "0"
    if quantity.format == "BinarySI":
        whole = quantity.value
        # Small or fractional amounts would lose by a binary suffix.
        if abs(quantity.as_fraction()) >= 1024 and quantity.as_fraction() == whole:
            return _binary_text(whole)
    amount, exponent = quantity.unscaled, quantity.exponent
    while amount % 10 == 0:
        amount //= 10
        exponent += 1
    shift = exponent % 3
    if quantity.format != "DecimalExponent":
        shift = max(shift, exponent - 18)
    amount, exponent = amount * 10**shift, exponent - shift
    if quantity.format == "DecimalExponent":
        return f"{amount}e{exponent}" if exponent else str(amount)
    return f"{amount}{_DECIMAL_SUFFIXES[exponent]}"


def _binary_text(amount: int) -> str:
    power = 0
    while amount % 1024 == 0 and power < 6:
        amount //= 1024
        power += 1
    return f"{amount}{_BINARY_SUFFIXES.get(power, '')}"
