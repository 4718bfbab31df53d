"""What is wrong with an object of this group. Upstream checks it in code first and by declared rules after.

The law: what a declared rule finds is reported after everything else.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kapi.api.fields import FieldError, duplicate, not_supported, required, too_many

Check = Callable[[Any, str], None]


class Findings:
    def __init__(self) -> None:
        self._found: list[FieldError] = []
        self.declared: list[FieldError] = []

    def add(self, *errors: FieldError) -> None:
        self._found += errors

    def declare(self, *errors: FieldError) -> None:
        self.declared += errors

    @property
    def all(self) -> list[FieldError]:
        return self._found + self.declared

    def each(self, items: Sequence[Any] | None, most: int, path: str, check: Check | None = None) -> bool:
        """Check a list's items, unless there are too many of them."""
        items = items or ()
        if len(items) > most:
            self.declare(too_many(path, len(items), most))
            return False
        for i, item in enumerate(items if check is not None else ()):
            check(item, f"{path}[{i}]")  # type: ignore[misc]
        return True

    def distinct(self, items: Sequence[Any] | None, path: str, key: Callable[[Any], Any] = lambda item: item) -> None:
        """A list that is a set, or a map by some of its items' fields."""
        seen: list[Any] = []
        for i, item in enumerate(items or ()):
            if key(item) in seen:
                self.declare(duplicate(f"{path}[{i}]", item))
            seen.append(key(item))

    def choice(self, value: str, allowed: Iterable[str], path: str, *, needed: bool = True) -> None:
        if not value:
            if needed:
                self.declare(required(path))
        elif value not in allowed:
            self.declare(not_supported(path, value, tuple(allowed)))
