"""Checks of an applied configuration against its type: undeclared fields, wrong types, ambiguous list elements."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapi.api.objects import Object
from kapi.patch.apply.elements import describe
from kapi.patch.apply.shape import ANY, ElementError, Shape
from kapi.patch.values import GoValue, go_format, go_syntax, go_type

# Texts of any other format may be other scalars, as upstream has it.
_TYPED = frozenset({"", "byte", "duration"})


def problems(obj: Object, shape: Shape) -> str:
    """What is wrong with an object, as one text; empty when nothing is."""
    found = list(_check(obj, shape, ""))
    if len(found) < 2:
        return "".join(found)
    return "\n  ".join(["errors:", *found])


def _check(value: Any, shape: Shape, path: str) -> Iterator[str]:
    if value is None:
        return
    if shape.kind == "any":
        if isinstance(value, dict):
            yield from _check_members(value, shape, path)
    elif shape.kind == "object":
        if isinstance(value, dict):
            yield from _check_members(value, shape, path)
        else:
            yield _problem(path, f"expected map, got &{{{go_format(value)}}}")
    elif shape.kind == "list":
        if isinstance(value, list):
            yield from _check_items(value, shape, path)
        else:
            yield _problem(path, f"expected list, got &{{{go_format(value)}}}")
    else:
        yield from _check_scalar(value, shape, path)


def _problem(path: str, text: str) -> str:
    return f"{path}: {text}" if path else text


def _check_members(value: Object, shape: Shape, path: str) -> Iterator[str]:
    for name in sorted(value):
        child = shape.member(name)
        if child is None:
            # The walk ends at the first undeclared field, as upstream's does.
            yield f"{path}.{name}: field not declared in schema"
            return
        yield from _check(value[name], child, f"{path}.{name}")


def _check_items(items: list[Any], shape: Shape, path: str) -> Iterator[str]:
    if shape.leaf:
        for index, item in enumerate(items):
            yield from _check(item, shape.element or ANY, f"{path}[{index}]")
        return
    seen: set[str] = set()
    for index, item in enumerate(items):
        try:
            element = shape.element_of(item)
        except ElementError as error:
            yield _problem(path, f"element {index}: {error}")
            return
        shown = describe(element)
        if element in seen:
            yield _problem(path, f"duplicate entries for key {shown}")
        seen.add(element)
        yield from _check(item, shape.element, path + shown)


def _check_scalar(value: Any, shape: Shape, path: str) -> Iterator[str]:
    type = shape.type
    if type.format == "raw" or (type.name and type.format == "int-or-string"):
        return
    if type.kind == "string" and type.format not in _TYPED:
        if isinstance(value, (dict, list, GoValue)):
            yield _problem(path, f"expected any scalar, got &{{{go_format(value)}}}")
    elif type.kind == "string":
        if not isinstance(value, str):
            yield _problem(path, f"expected string, got &value.valueUnstructured{{Value:{go_syntax(value)}}}")
    elif type.kind == "boolean":
        if not isinstance(value, bool):
            yield _problem(path, f"expected boolean, got &{{{go_format(value)}}}")
    elif isinstance(value, bool) or not isinstance(value, (int, float)):
        yield _problem(path, f"expected numeric (int or float), got {go_type(value)}")
