"""What is wrong with a value's JSON type, in the words of Go's decoder."""

from __future__ import annotations

from typing import Any

from kapi.schema.types import GoField

_CONTAINERS = ("[]", "map[")
_NAMED_LISTS = ("v1.ExtraValue",)  # of plain strings
_KINDS: dict[type, str] = {str: "string", bool: "bool", int: "number", float: "number", list: "array", dict: "object"}


class TypeMismatch(Exception):
    """A value that does not fit its type. Structs add their name and the field's as it passes through them."""

    def __init__(self, value: Any, go_type: str, *, number: str = "", plain: str = "") -> None:
        super().__init__(go_type)
        self._kind = (
            f"number {number}"
            if number
            else next((name for kind, name in _KINDS.items() if isinstance(value, kind)), "null")
        )
        self.is_number = bool(number)
        self._go_type = go_type
        self._plain = plain
        self._struct = ""
        self._path: list[str] = []

    @classmethod
    def plainly(cls, message: str) -> TypeMismatch:
        """A failure that is reported without the field's path: a bad quantity, time or base64 text."""
        return cls(None, "", plain=message)

    def inside(self, struct: str, go: GoField | None, field: str) -> None:
        if not self._struct and self._go_type == "string" and go is not None and go.type.startswith(_CONTAINERS):
            # The strings of a list may be of a named type, which only the list's field tells.
            named = go.type.rpartition("]")[2]
            self._go_type = self._go_type if named in _NAMED_LISTS else named
        # Bottom up: the innermost struct gives its name, every one its field.
        self._struct = self._struct or struct
        self._path[:0] = [*(go.via if go is not None else ()), field]

    @property
    def message(self) -> str:
        if self._path and not self._plain:
            where = f"struct field {self._struct}.{'.'.join(self._path)}"
            return f"json: cannot unmarshal {self._kind} into Go {where} of type {self._go_type}"
        return self.alone

    @property
    def alone(self) -> str:
        """Without where the value stands."""
        return self._plain or f"json: cannot unmarshal {self._kind} into Go value of type {self._go_type}"

    def __str__(self) -> str:
        return self.message
