"""Empty lists and maps that a client gave where Go's types always write the field.

Go keeps the difference to a missing one until the object is stored: whoever gave it owns the field. Then it is lost:
the store reads back nothing, and null is written. So these are encoded as null.
"""

from __future__ import annotations

from typing import Any


class EmptyList(list[Any]):
    __slots__ = ()


class EmptyMap(dict[str, Any]):
    __slots__ = ()


def as_nothing(value: object) -> None:
    """What a JSON encoder writes for these: null."""
    if not isinstance(value, (EmptyList, EmptyMap)):
        raise TypeError(f"{type(value).__name__} is not JSON")
