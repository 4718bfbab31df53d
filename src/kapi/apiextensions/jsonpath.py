"""JSONPath, as far as kubectl's dialect goes: fields, indexes, slices, wildcards, unions, filters, recursive descent.

A path compiles into steps; each turns a list of values into the next one. Missing keys yield nothing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

Step: TypeAlias = Callable[[list[Any]], list[Any]]

_FIELD = re.compile(r"(?:[^.\[\]\s\\]|\\.)+")
_SLICE = re.compile(r"(-?\d*):(-?\d*)(?::(-?\d*))?\Z")
_FILTER = re.compile(r"\?\((.*)\)\Z", re.DOTALL)
_COMPARISON = re.compile(r"\s*(.+?)\s*(==|!=|<=|>=|<|>)\s*(.+?)\s*\Z", re.DOTALL)


class InvalidPath(ValueError):
    """The text is no JSONPath."""


def compile_path(text: str) -> Callable[[Any], list[Any]]:
    """A function that finds the values a path such as `.spec.items[0].name` leads to."""
    steps = list(_steps(text))

    def find(value: Any) -> list[Any]:
        found = [value]
        for step in steps:
            found = step(found)
        return found

    return find


def _steps(text: str) -> Iterator[Step]:
    position = 0
    if text[:1] in ("$", "@"):
        position = 1
    while position < len(text):
        if text.startswith("..", position):
            yield _descend
            position += 1
            if text[position + 1 : position + 2] == "[":
                position += 1
            continue
        if text[position] == ".":
            position += 1
            if position == len(text) or text[position] == "[":
                continue
        if text[position] == "[":
            end = _closing(text, position)
            yield _bracket(text[position + 1 : end].strip())
            position = end + 1
            continue
        match = _FIELD.match(text, position)
        if match is None:
            raise InvalidPath(f"unrecognized character in action: {text[position]!r}")
        name = re.sub(r"\\(.)", r"\1", match[0])
        yield _wildcard if name == "*" else _field(name)
        position = match.end()


def _closing(text: str, start: int) -> int:
    depth, quote = 0, ""
    for position in range(start, len(text)):
        c = text[position]
        if quote:
            quote = "" if c == quote and text[position - 1] != "\\" else quote
        elif c in "'\"":
            quote = c
        elif c == "[":
            depth += 1
        elif c == "]":
            depth -= 1
            if not depth:
                return position
    raise InvalidPath("unterminated array")


def _bracket(inner: str) -> Step:
    if inner == "*":
        return _wildcard
    if match := _FILTER.match(inner):
        return _filter(match[1])
    if inner[:1] in "'\"" and inner[-1:] == inner[:1] and inner.count(inner[0]) == 2:
        return _field(re.sub(r"\\(.)", r"\1", inner[1:-1]))
    if "," in inner:
        parts = [_bracket(part.strip()) for part in inner.split(",")]
        return lambda values: [found for part in parts for found in part(values)]
    if match := _SLICE.match(inner):
        low, high, stride = (int(part) if part else None for part in match.groups())
        return lambda values: [item for v in values if isinstance(v, list) for item in v[low:high:stride]]
    try:
        index = int(inner)
    except ValueError:
        raise InvalidPath(f"invalid array index {inner}") from None
    return lambda values: [v[index] for v in values if isinstance(v, list) and -len(v) <= index < len(v)]


def _field(name: str) -> Step:
    return lambda values: [v[name] for v in values if isinstance(v, dict) and name in v]


def _wildcard(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        if isinstance(value, list):
            found += value
        elif isinstance(value, dict):
            found += value.values()
    return found


def _descend(values: list[Any]) -> list[Any]:
    found: list[Any] = []
    for value in values:
        found.append(value)
        found += _descend(_wildcard([value]))
    return found


def _filter(text: str) -> Step:
    comparison = _COMPARISON.match(text)
    if comparison is None:
        exists = compile_path(text.strip())
        return lambda values: [item for item in _wildcard(values) if exists(item)]
    left, operator, right = _operand(comparison[1]), comparison[2], _operand(comparison[3])

    def keep(item: Any) -> bool:
        one, other = left(item), right(item)
        return bool(one and other) and _compare(one[0], operator, other[0])

    return lambda values: [item for item in _wildcard(values) if keep(item)]


def _operand(text: str) -> Callable[[Any], list[Any]]:
    if text[:1] in ("@", "$"):
        return compile_path(text)
    if text[:1] in "'\"":
        literal: Any = text[1:-1]
    elif text in ("true", "false"):
        literal = text == "true"
    else:
        try:
            literal = float(text) if "." in text else int(text)
        except ValueError:
            raise InvalidPath(f"unrecognized operand {text}") from None
    return lambda _: [literal]


def _compare(one: Any, operator: str, other: Any) -> bool:
    if isinstance(one, bool) is not isinstance(other, bool) or isinstance(one, str) is not isinstance(other, str):
        return False
    try:
        return bool(_OPERATORS[operator](one, other))
    except TypeError:
        return False


_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "==": lambda a, b: a == b,
    "!=": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
