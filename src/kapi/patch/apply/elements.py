"""Path elements, in the form fields sets are written in.

`f:name` is a member of an object, `k:{"name":"x"}` the element of a list with these keys, `v:"x"` an element of a set,
`i:3` one of an atomic list. Only canonical spellings are held, so that equal elements are equal strings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, TypeAlias

import orjson

from kapi.api.fields import go_quote
from kapi.patch.values import go_format, json_quote

Order: TypeAlias = tuple[Any, ...]

# Printable ASCII that JSON strings and Go's HTML escaping leave alone.
_plain = re.compile(r"[ !#-%'-;=?-\[\]-~]*").fullmatch


def scalar(value: Any) -> str:
    """A value inside an element, as JSON."""
    if isinstance(value, str):
        return f'"{value}"' if _plain(value) else json_quote(value)
    if isinstance(value, (dict, list)):
        return orjson.dumps(value, option=orjson.OPT_SORT_KEYS).decode()
    return "null" if value is None else go_format(value)


def keyed(pairs: Iterable[tuple[str, Any]]) -> str:
    """The element of a list with these keys, which come sorted by name."""
    return "k:{" + ",".join([f"{scalar(name)}:{scalar(value)}" for name, value in pairs]) + "}"


def canonical(element: str) -> str | None:
    """The canonical spelling of an element that a client wrote; None for a kind of element yet unknown."""
    if len(element) < 2:
        raise ValueError("key must be 2 characters long:")
    kind, colon, rest = element[0], element[1], element[2:]
    if colon != ":":
        raise ValueError(f"missing colon: {element}")
    if kind == "f":
        return element
    if kind == "v":
        return f"v:{scalar(orjson.loads(rest))}"
    if kind == "i":
        return f"i:{int(rest)}"
    if kind == "k":
        keys = orjson.loads(rest)
        if not isinstance(keys, dict):
            raise ValueError(f"not an object: {rest}")
        return keyed(sorted(keys.items()))
    return None


def in_order(elements: Iterable[str]) -> list[str]:
    """The elements as fields sets list them: itself, members, keyed elements, values, indices."""
    plain = sorted(elements)
    if plain and plain[-1][0] in "f.":
        return plain
    return sorted(plain, key=_order)


@lru_cache(maxsize=4096)
def _order(element: str) -> Order:
    kind = element[0]
    if kind == ".":
        return (0,)
    if kind == "f":
        return (1, element)
    if kind == "k":
        return (2, *((name, *_rank(value)) for name, value in orjson.loads(element[2:]).items()))
    if kind == "v":
        return (3, _rank(orjson.loads(element[2:])))
    return (4, int(element[2:]))


def _rank(value: Any) -> Order:
    """Values of different types in order: numbers, strings, booleans, lists, objects, null."""
    if isinstance(value, bool):
        return (2, value)
    if isinstance(value, (int, float)):
        return (0, value)
    if isinstance(value, str):
        return (1, value)
    if value is None:
        return (5,)
    return (3 if isinstance(value, list) else 4, scalar(value))


def describe(element: str) -> str:
    """As messages print it: `.name`, `[name="x"]`, `[="x"]`, `[3]`."""
    kind, rest = element[0], element[2:]
    if kind == "f":
        return f".{rest}"
    if kind == "i":
        return f"[{rest}]"
    value = orjson.loads(rest)
    if kind == "v":
        return f"[={_shown(value)}]"
    return "[" + ",".join(f"{name}={_shown(item)}" for name, item in value.items()) + "]"


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return go_quote(value)
    if isinstance(value, list):
        return "[" + ",".join(map(_shown, value)) + "]"
    if isinstance(value, dict):
        return "".join(f"{name}={_shown(item)}" for name, item in value.items())
    return "null" if value is None else go_format(value)
