"""Quantities: `quantity('1Gi').isGreaterThan(quantity('500M'))`."""

from __future__ import annotations

from dataclasses import dataclass

from kapi.api.quantity import Quantity, QuantityError
from kapi.cel import prices
from kapi.cel.functions import Library, method, overload
from kapi.cel.types import BOOL, DOUBLE, INT, STRING, CelType, struct
from kapi.cel.values import INT_MAX, INT_MIN, EvaluationError

QUANTITY = struct("kubernetes.Quantity")
_DECIMAL_LIMIT = 10**18
_BINARY_LIMIT = 100 << 40


@dataclass(frozen=True, slots=True)
class QuantityValue:
    amount: Quantity

    @property
    def cel_type(self) -> CelType:
        return QUANTITY


def parse(text: str) -> QuantityValue:
    try:
        return QuantityValue(Quantity.parse(text))
    except QuantityError as error:
        raise EvaluationError(str(error)) from None


def is_quantity(text: str) -> bool:
    try:
        Quantity.parse(text)
    except QuantityError:
        return False
    return True


def is_integer(value: QuantityValue) -> bool:
    """Whether upstream holds it as one: a fraction that is whole is none, nor is what has too many digits."""
    amount = value.amount
    limit = _BINARY_LIMIT if amount.format == "BinarySI" else _DECIMAL_LIMIT
    return amount.exponent >= 0 and abs(amount.unscaled) < limit and INT_MIN <= amount.as_fraction() <= INT_MAX


def as_integer(value: QuantityValue) -> int:
    if not is_integer(value):
        raise EvaluationError("cannot convert value to integer")
    return value.amount.as_fraction().numerator


def _add(value: QuantityValue, other: QuantityValue) -> QuantityValue:
    return QuantityValue(value.amount + other.amount) if other.amount else value


def _subtract(value: QuantityValue, other: QuantityValue) -> QuantityValue:
    return QuantityValue(value.amount - other.amount) if other.amount else value


def _whole(number: int) -> QuantityValue:
    return QuantityValue(Quantity(number, 0, "DecimalExponent"))


def library() -> Library:
    pair = (QUANTITY, QUANTITY)
    return Library(
        functions={
            "quantity": (overload("string_to_quantity", (STRING,), QUANTITY, parse, prices.traversal),),
            "isQuantity": (overload("is_quantity_string", (STRING,), BOOL, is_quantity, prices.traversal),),
            "sign": (overload("quantity_sign", (QUANTITY,), INT, lambda value: value.amount.sign),),
            "isGreaterThan": (method("quantity_is_greater_than", pair, BOOL, lambda a, b: a.amount > b.amount),),
            "isLessThan": (method("quantity_is_less_than", pair, BOOL, lambda a, b: a.amount < b.amount),),
            "compareTo": (method("quantity_compare_to", pair, INT, lambda a, b: a.amount.compare(b.amount)),),
            "asApproximateFloat": (
                method("quantity_get_float", (QUANTITY,), DOUBLE, lambda value: float(value.amount.as_fraction())),
            ),
            "asInteger": (method("quantity_get_int", (QUANTITY,), INT, as_integer),),
            "isInteger": (method("quantity_is_integer", (QUANTITY,), BOOL, is_integer),),
            "add": (
                method("quantity_add", pair, QUANTITY, _add),
                method("quantity_add_int", (QUANTITY, INT), QUANTITY, lambda value, n: _add(value, _whole(n))),
            ),
            "sub": (
                method("quantity_sub", pair, QUANTITY, _subtract),
                method("quantity_sub_int", (QUANTITY, INT), QUANTITY, lambda value, n: _subtract(value, _whole(n))),
            ),
        },
    )
