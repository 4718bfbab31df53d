"""What can be wrong with a custom resource, worded: each problem is a function from a path to a field error.

A path is where the value stands, relative to what is checked; a base is where that stands. Messages name the path,
fields name both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import orjson

from kapi.api.fields import FieldError, go_quote, invalid, not_supported, required, too_long, too_many, type_invalid

Make: TypeAlias = Callable[[str, str], FieldError]
Problem: TypeAlias = tuple[str, Make]  # the path's suffix, and what is wrong there


def _at(path: str, base: str) -> str:
    path = path.removeprefix(".")
    return f"{base}.{path}" if base and path else base or path or "<nil>"


def composite(text: str) -> Make:
    """Of alternatives: told of the whole, with the path in the text."""
    return lambda path, base: invalid(base or "<nil>", "", f"{go_quote(path)} {text}")


def out_of_range(what: str, type_: str, format_: str) -> Make:
    shown = f"with format {format_}" if format_ else "(default format)"
    return lambda path, base: invalid(base or "<nil>", "", f"{what} value must be of type {type_} {shown} in {path}")


def wrong_type(wanted: str, given: str) -> Make:
    return lambda path, base: type_invalid(
        _at(path, base), given, f"{path} in body must be of type {wanted}: {go_quote(given)}"
    )


def unfit(value: Any, text: str) -> Make:
    """A value that violates a rule of its type."""
    return lambda path, base: invalid(_at(path, base), value, f"{path} in body {text}")


def not_positive(factor: float, shown: str) -> Make:
    return lambda path, base: invalid(
        _at(path, base), factor, f"factor MultipleOf declared for {path} must be positive: {shown}"
    )


def required_problem(path: str, base: str) -> FieldError:
    return required(_at(path, base))


def enum_problem(value: Any, allowed: Sequence[Any]) -> Make:
    shown = [e if isinstance(e, str) else orjson.dumps(e).decode() for e in allowed]
    return lambda path, base: not_supported(_at(path, base), value, shown, in_order=True)


def too_long_problem(limit: int) -> Make:
    return lambda path, base: too_long(_at(path, base), limit)


def too_many_problem(size: int, limit: int) -> Make:
    return lambda path, base: too_many(_at(path, base), size, limit)


def too_few_items(size: int, limit: int) -> Make:
    return unfit(size, f"should have at least {limit} items")


def too_few_properties(size: int, limit: int) -> Make:
    return unfit(size, f"should have at least {limit} properties")


def forbidden_property(key: str) -> Make:
    return lambda path, base: invalid(_at(path, base), key, f"{path}.{key} in body is a forbidden property")
