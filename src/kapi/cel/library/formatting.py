"""`string.format`: the clauses, what each takes, and the same checks at compile time where all is known."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from typing import Any

from kapi.cel.ast import Call, ListExpr, Literal, MapExpr, Node
from kapi.cel.conversions import to_string
from kapi.cel.source import Issue
from kapi.cel.types import CelType, is_dyn
from kapi.cel.values import INT_MAX, EvaluationError, Uint, runtime_type

_PRECISION = 6
# No double has more places; upstream keeps the number of them in a byte.
_MAX_PLACES = 1100
_PLACES_MODULUS = 256
_MAX_DIGITS = 20
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")
_TEXTUAL = frozenset(
    {"list", "map", "int", "uint", "double", "bool", "string", "timestamp", "bytes", "duration", "type", "null"}
)
_STRING_CLAUSE = (
    "string clause can only be used on strings, bools, bytes, ints, doubles, maps, lists, types, "
    "durations, and timestamps"
)
_HEX_CLAUSE = "only integers, byte buffers, and strings can be formatted as hex"
_KINDS: dict[str, tuple[frozenset[str], str]] = {
    "s": (_TEXTUAL, _STRING_CLAUSE),
    "d": (frozenset({"int", "uint"}), "decimal clause can only be used on integers"),
    "f": (frozenset({"double", "string"}), "fixed-point clause can only be used on doubles"),
    "e": (frozenset({"double", "string"}), "scientific clause can only be used on doubles"),
    "b": (frozenset({"int", "uint", "bool"}), "only integers and bools can be formatted as binary"),
    "x": (frozenset({"int", "uint", "string", "bytes"}), _HEX_CLAUSE),
    "o": (frozenset({"int", "uint"}), "octal clause can only be used on integers"),
}  # fmt: skip
_NOT_FINITE = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}

Formatter = Callable[[int, str, int | None], str]


def format_string(template: str, args: list[Any]) -> str:
    return _expand(template, len(args), lambda index, clause, precision: _clause(args[index], clause, precision))


def _expand(template: str, count: int, formatter: Formatter) -> str:
    """Replace each clause by what the formatter makes of the argument with its index."""
    result: list[str] = []
    position = index = 0
    while position < len(template):
        character = template[position]
        position += 1
        if character != "%":
            result.append(character)
            continue
        if template[position : position + 1] == "%":
            result.append("%")
            position += 1
            continue
        if index >= count:
            raise EvaluationError(f"index {index} out of range")
        if position >= len(template):
            raise EvaluationError("unexpected end of string")
        clause, precision, position = _parse_clause(template, position)
        result.append(formatter(index, clause, precision))
        index += 1
    return "".join(result)


def _parse_clause(template: str, position: int) -> tuple[str, int | None, int]:
    precision: int | None = None
    if template[position] == ".":
        end = position + 1
        while end < len(template) and template[end] in "0123456789":
            end += 1
        if end >= len(template):
            raise _unparsable("error while parsing precision: could not find end of precision specifier")
        digits = template[position + 1 : end]
        if not digits:
            raise _bad_precision(digits, "invalid syntax")
        if len(digits) > _MAX_DIGITS or int(digits) > INT_MAX:
            raise _bad_precision(digits, "value out of range")
        precision, position = int(digits), end
    clause = template[position]
    if clause != "X" and clause not in _KINDS:
        raise _unparsable(f'unrecognized formatting clause "{clause}"')
    return clause, precision, position + 1


def _bad_precision(digits: str, why: str) -> EvaluationError:
    reason = f'error while converting precision to integer: strconv.Atoi: parsing "{digits}": {why}'
    return _unparsable(f"error while parsing precision: {reason}")


def _unparsable(reason: str) -> EvaluationError:
    return EvaluationError(f"could not parse formatting clause: {reason}")


def _refused(clause: str, kind: CelType) -> EvaluationError:
    return EvaluationError(f"error during formatting: {_KINDS[clause.lower()][1]}, was given {kind.name}")


def _clause(value: Any, clause: str, precision: int | None) -> str:
    kind = runtime_type(value)
    accepted = kind.kind in _KINDS[clause.lower()][0]
    if clause in "fe" and isinstance(value, str):
        accepted = value in _NOT_FINITE
    if not accepted:
        raise _refused(clause, kind)
    match clause:
        case "s":
            return _text(value)
        case "d":
            return to_string(value)
        case "f":
            return _fixed(_NOT_FINITE[value] if isinstance(value, str) else value, precision)
        case "e":
            return _scientific(_NOT_FINITE[value] if isinstance(value, str) else value)
        case "x" | "X":
            return _hex(value, clause)
    return format(int(value), clause)


def _fixed(value: float, precision: int | None) -> str:
    if not math.isfinite(value):
        return _not_finite(value)
    places = _PRECISION if precision is None else precision
    text = f"{value:,.{min(places, _MAX_PLACES)}f}"
    if places < _PLACES_MODULUS:
        return text
    whole, _, fraction = text.partition(".")
    fraction = fraction.rstrip("0").ljust(places % _PLACES_MODULUS, "0")
    return f"{whole}.{fraction}" if fraction else whole


def _scientific(value: float) -> str:
    """As upstream's printer: always with six places, whatever was asked for."""
    if not math.isfinite(value):
        return _not_finite(value)
    mantissa, exponent = f"{value:.{_PRECISION}e}".split("e")
    sign = "-" if exponent.startswith("-") else ""
    shown = (sign + exponent.lstrip("+-").rjust(2, "0")).translate(_SUPERSCRIPTS)
    return f"{mantissa}×10{shown}"


def _not_finite(value: float) -> str:
    if math.isnan(value):
        return "NaN"
    return "∞" if value > 0 else "-∞"


def _hex(value: Any, clause: str) -> str:
    if isinstance(value, (str, bytes)):
        data = value.encode() if isinstance(value, str) else value
        text = data.hex()
    else:
        text = format(int(value), "x")
    return text.upper() if clause == "X" else text


def _text(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, list):
        return f"[{', '.join(map(_nested, value))}]"
    if isinstance(value, dict):
        pairs = sorted((_key(key), _nested(item)) for key, item in value.items())
        return "{" + ", ".join(f"{key}:{item}" for key, item in pairs) + "}"
    return _converted(value)


def _converted(value: Any) -> str:
    try:
        return to_string(value)
    except EvaluationError as error:
        raise EvaluationError(f'error during formatting: could not convert argument "{error}" to string') from None


def _key(key: Any) -> str:
    if not isinstance(key, (str, bool, int, Uint)):
        raise EvaluationError(
            f"error during formatting: no formatting function for map key of type {runtime_type(key).name}"
        )
    return _nested(key)


def _nested(value: Any) -> str:
    """A value within a list or a map: strings are quoted, times are wrapped."""
    kind = runtime_type(value).kind
    if kind == "string":
        return _quoted(value)
    if kind == "bytes":
        return "b" + _quoted(_converted(value))
    if kind in ("timestamp", "duration"):
        return f"{kind}({_quoted(to_string(value))})"
    if kind == "double":
        text = f"{value:.{_PRECISION}f}"
        return (
            text if math.isfinite(value) else _quoted("NaN" if math.isnan(value) else f"{'+' if value > 0 else '-'}Inf")
        )
    if kind not in _TEXTUAL:
        raise EvaluationError(f"error during formatting: no formatting function for {runtime_type(value).name}")
    return _text(value)


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


# At compile time


class _BadArgument(Exception):
    def __init__(self, node: Node, message: str) -> None:
        super().__init__(message)
        self.node = node


def check_format(node: Call) -> list[Issue]:
    """The issues of a call whose template and list are literals."""
    template = node.target
    if not isinstance(template, Literal) or not isinstance(template.value, str) or len(node.args) != 1:
        return []
    items = node.args[0]
    if not isinstance(items, ListExpr):
        return []
    used = 0

    def check(index: int, clause: str, precision: int | None) -> str:
        nonlocal used
        used += 1
        bad = _unfit(items.elements[index], clause)
        if bad is not None:
            raise _BadArgument(bad, str(_refused(clause, bad.type)))
        return ""

    try:
        _expand(template.value, len(items.elements), check)
    except _BadArgument as error:
        return [Issue(error.node.offset, str(error))]
    except EvaluationError as error:
        return [Issue(node.offset, str(error))]
    if len(items.elements) > used:
        given = len(items.elements)
        message = f"too many arguments supplied to string.format (expected {used}, got {given})"
        return [Issue(node.offset, message)]
    return []


def _unfit(node: Node, clause: str) -> Node | None:
    """The argument, or the part of it, that the clause can not take."""
    if not is_dyn(node.type) and node.type.kind not in _KINDS[clause.lower()][0]:
        return node
    if clause == "s":
        parts: list[Node] = []
        if isinstance(node, ListExpr):
            parts = node.elements
        elif isinstance(node, MapExpr):
            parts = [part for entry in node.entries for part in (entry.key, entry.value)]
        for part in parts:
            bad = _unfit(part, clause)
            if bad is not None:
                return bad
    return None
