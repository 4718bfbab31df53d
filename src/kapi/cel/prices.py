"""What calls cost at run time, in the units that limits are set in."""

from __future__ import annotations

import math
from typing import Any

from kapi.cel.values import Optional

TRAVERSAL = 0.1
REGEX = 0.25
LIST = 10
MAP = 30
STRUCT = 40
AUTHORIZATION_CHECK = 350_000


def size_of(value: Any) -> int:
    """How much there is of a value: characters, bytes, items; 1 for what has no size."""
    if isinstance(value, (str, bytes, list, dict)):
        return len(value)
    if type(value) is Optional and value.present:
        return size_of(value.value)
    declared = getattr(value, "cel_size", None)
    return declared if isinstance(declared, int) else 1


def traversal(value: Any, *_: Any) -> int:
    """Reading the first argument once."""
    return math.ceil(size_of(value) * TRAVERSAL)


def twice(value: Any, *_: Any) -> int:
    """Reading the first argument and building something of its size."""
    return math.ceil(size_of(value) * 2 * TRAVERSAL)


def of_result(*values: Any) -> int:
    return math.ceil(size_of(values[-1]) * 2 * TRAVERSAL)


def smaller(a: Any, b: Any, _: Any) -> int:
    return math.ceil(min(size_of(a), size_of(b)) * TRAVERSAL)


def both(a: Any, b: Any, _: Any) -> int:
    return math.ceil((size_of(a) + size_of(b)) * TRAVERSAL)


def items(_: Any, container: Any, __: Any) -> int:
    return size_of(container)


def product(a: Any, b: Any, _: Any) -> int:
    return math.ceil(size_of(a) * TRAVERSAL) * math.ceil(size_of(b) * TRAVERSAL)


def regex(text: Any, pattern: Any, *_: Any) -> int:
    return math.ceil((1.0 + size_of(text)) * TRAVERSAL) * math.ceil(size_of(pattern) * REGEX)


def tree(value: Any, *_: Any) -> int:
    """Reading all of a value, whatever it nests."""
    if isinstance(value, (str, bytes)):
        length = len(value.encode()) if isinstance(value, str) else len(value)
        return int(length * TRAVERSAL)
    if isinstance(value, list):
        return sum(map(tree, value))
    if isinstance(value, dict):
        return sum(tree(key) + tree(item) for key, item in value.items())
    return 1


def allocated(*values: Any) -> int:
    """A new list of the result's size."""
    return size_of(values[-1]) + 1 + LIST


def self_comparison(value: Any, *_: Any) -> int:
    """Comparing the items of a list with one another."""
    count = size_of(value)
    factor = 2.0
    if isinstance(value, list) and value and isinstance(value[0], (str, bytes)):
        factor += TRAVERSAL
    return int(count * count * factor) + 1 + LIST
