"""The checks of a node's own value: its JSON type, and the rules for texts and numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from kapi.schema.structural import Structural
from kapi.schema.structural_formats import format_check, is_supported
from kapi.schema.structural_problems import Problem, not_positive, out_of_range, too_long_problem, unfit, wrong_type

# value, problems: how many checks passed
Judge: TypeAlias = Callable[[Any, list[Problem]], int]

_NAMES: Mapping[type, str] = {bool: "boolean", str: "string", list: "array", dict: "object", float: "number"}
_LOWEST, _HIGHEST = -(1 << 63), (1 << 63) - 1
_LARGEST_FLOAT32 = 3.4028235677973366e38
_LARGEST_SAFE = float((1 << 53) - 1)
_EPSILON = 1e-9


def type_check(node: Structural) -> Judge | None:
    """Whether the value is of one of the types; None when any will do."""
    types = ("integer", "string") if node.int_or_string else (node.type,) if node.type else ()
    format_ = known_format(node.schema)
    if not types and not format_:
        return None
    wanted, nullable = ",".join(types), node.nullable
    numeric = "number" in types or "integer" in types

    def check(value: Any, problems: list[Problem]) -> int:
        kind = value.__class__
        if value is None:
            if types and not nullable:
                problems.append(("", wrong_type(wanted, "null")))
                return 0
            return 1
        given = "integer" if kind is int else _NAMES.get(kind, "number")
        fits = given in types or (given == "integer" and "number" in types)
        if not fits and given == "number" and "integer" in types:
            fits = _is_whole(value)
        if format_ and kind is not str and kind is not list and not fits:
            # As upstream: where a format is told, the message names it, and the form of the value.
            shown = {"integer": "int64", "number": "float64"}.get(given, "")
            problems.append(("", wrong_type(format_, shown)))
            return 0
        if format_ and not numeric and (kind is str or kind is list):
            return 1
        if not fits:
            problems.append(("", wrong_type(wanted, given)))
            return 0
        return 1

    return check


def known_format(schema: Mapping[str, Any]) -> str:
    """The schema's format, if it means anything for its type."""
    format_: str = schema.get("format", "")
    if not format_:
        return ""
    type_ = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
    return format_ if is_supported(type_, format_) else ""


def string_check(schema: Mapping[str, Any]) -> Judge | None:
    low, high, pattern = schema.get("minLength"), schema.get("maxLength"), schema.get("pattern")
    format_ = known_format(schema)
    is_format = format_check(format_) if format_ else None
    if low is None and high is None and not pattern and is_format is None:
        return None
    compiled: list[Callable[[bytes], Any]] = []

    def check(value: str, problems: list[Problem]) -> int:
        if high is not None and len(value) > high:
            problems.append(("", too_long_problem(high)))
        elif low is not None and len(value) < low:
            problems.append(("", unfit(value, f"should be at least {low} chars long")))
        elif pattern:
            if not compiled:
                compiled.append(_matcher(pattern))
            if not compiled[0](value.encode()):
                problems.append(("", unfit(value, f"should match '{pattern}'")))
        if is_format is None:
            return 1
        if not is_format(value):
            problems.append(("", wrong_type(format_, value)))
        return 2

    return check


def _matcher(pattern: str) -> Callable[[bytes], Any]:
    """Of bytes, and without groups: the binding's way from there to offsets in text costs more than the search."""
    import re2  # users' expressions run in linear time; few schemas have one

    options = re2.Options()
    options.never_capture = True
    return re2.compile(pattern, options).search  # type: ignore[no-any-return]


def number_check(schema: Mapping[str, Any]) -> Judge | None:
    type_ = "" if schema.get("x-kubernetes-int-or-string") else schema.get("type", "")
    type_ = type_ if type_ in ("integer", "number") else ""
    format_ = known_format(schema) if type_ else ""
    factor, low, high = schema.get("multipleOf"), schema.get("minimum"), schema.get("maximum")
    over, under = schema.get("exclusiveMinimum", False), schema.get("exclusiveMaximum", False)
    if not type_ and factor is None and low is None and high is None:
        return None

    def check(value: int | float, problems: list[Problem]) -> int:
        native = value if value.__class__ is int else float(value)
        if not _in_range(value, type_, format_):
            problems.append(("", out_of_range("Checked", type_, format_)))
        if factor is not None:
            _check_factor(native, factor, type_, format_, problems)
        if low is not None:
            _check_bound(native, low, "Minimum boundary", over, type_, format_, problems)
        if high is not None:
            _check_bound(native, high, "Maximum boundary", under, type_, format_, problems)
        return 2

    return check


def _in_range(value: int | float, type_: str, format_: str) -> bool:
    if type_ == "integer":
        if not _is_whole(value):
            return False
        return abs(value + 0.5) < 1 << 31 if format_ == "int32" else _LOWEST <= value <= _HIGHEST
    return format_ != "float" or abs(value) < _LARGEST_FLOAT32


def _check_bound(
    value: int | float, bound: float, what: str, exclusive: bool, type_: str, format_: str, problems: list[Problem]
) -> None:
    limit = bound
    if not _in_range(bound, type_, format_):
        problems.append(("", out_of_range(what, type_, format_)))
    elif value.__class__ is int:
        limit = int(bound)
    is_low = what.startswith("Minimum")
    if (value < limit if is_low else value > limit) or (exclusive and value == limit):
        side = "greater than" if is_low else "less than"
        text = side if exclusive else f"{side} or equal to"
        problems.append(("", unfit(value, f"should be {text} {go_number(limit)}")))


def _check_factor(value: int | float, factor: float, type_: str, format_: str, problems: list[Problem]) -> None:
    if not _in_range(factor, type_, format_):
        problems.append(("", out_of_range("MultipleOf", type_, format_)))
        whole = False
    else:
        whole = value.__class__ is int
    unit = int(factor) if whole else factor
    if unit <= 0:
        problems.append(("", not_positive(unit, go_number(unit))))
        return
    fits = value % unit == 0 if whole else _is_nearly_whole(1 / unit * value if unit < 1 else value / unit)
    if not fits:
        problems.append(("", unfit(value, f"should be a multiple of {go_number(unit)}")))


def go_number(value: float) -> str:
    """As %v prints it."""
    if value.__class__ is int or (value.is_integer() and abs(value) < 1e21):
        return str(int(value))
    return repr(value)


def _is_whole(value: int | float) -> bool:
    return value.__class__ is int or (
        math.isfinite(value) and float(value).is_integer() and abs(value) <= _LARGEST_SAFE
    )


def _is_nearly_whole(value: float) -> bool:
    """With the tolerance that upstream allows for floats."""
    if not math.isfinite(value) or abs(value) > _LARGEST_SAFE:
        return False
    nearest = float(int(value))
    if value == nearest:
        return True
    if value == 0 or nearest == 0:
        return False
    return abs(value - nearest) / (abs(value) + abs(nearest)) < _EPSILON
