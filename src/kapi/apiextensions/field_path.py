"""Paths into a schema, such as `.spec.color` or `.spec['x.y']`: whether they lead to a field."""

from __future__ import annotations

import re

from kapi.schema.structural import Structural

_TOKEN = re.compile(r"'(?:[^'\\]|\\.)*'|[.\[\]]|[^.\[\]]+")


class InvalidFieldPath(ValueError):
    """The message says why the path leads nowhere."""


def follow(path: str, node: Structural, *, arrays: bool = True) -> tuple[list[str], Structural]:
    """The names along the path, and the schema of the field it leads to."""
    tokens = _TOKEN.findall(path)
    names: list[str] = []
    position = 0
    while position < len(tokens):
        token = tokens[position]
        if token == "[":
            name = _quoted(tokens, position, arrays=arrays)
            position += 3
        elif token == ".":
            if position + 1 == len(tokens):
                raise InvalidFieldPath("unexpected end of JSON path")
            name = tokens[position + 1]
            position += 2
        else:
            raise InvalidFieldPath(f"expected [ or . but got: {token}")
        node = _step(node, name)
        names.append(name)
    return names, node


def _quoted(tokens: list[str], position: int, *, arrays: bool) -> str:
    if not arrays:
        raise InvalidFieldPath("array notation is not allowed")
    rest = tokens[position + 1 : position + 3]
    if not rest:
        raise InvalidFieldPath("unexpected end of JSON path")
    quoted = rest[0]
    if len(quoted) < 2 or quoted[0] != "'" or quoted[-1] != "'":
        raise InvalidFieldPath(f"expected single quoted string but got {quoted}")
    if len(rest) < 2:
        raise InvalidFieldPath("unexpected end of JSON path")
    if rest[1] != "]":
        raise InvalidFieldPath(f"expected ] but got {rest[1]}")
    return re.sub(r"\\(.)", r"\1", quoted[1:-1])


def _step(node: Structural, name: str) -> Structural:
    found = node.properties.get(name) if node.properties else node.additional
    if found is None:
        raise InvalidFieldPath("does not refer to a valid field")
    return found
