"""What strategic merge reads from a type, and the names of its directives."""

from __future__ import annotations

from typing import Any

from kapi.patch.errors import StrategicMergeError
from kapi.schema.types import Field, Type

DIRECTIVE = "$patch"

_KINDS = {
    "object": "struct",
    "any": "struct",
    "list": "slice",
    "integer": "int",
    "number": "float64",
    "boolean": "bool",
}


class Prefix:
    """A directive that names the list beside it: `$setElementOrder/containers`."""

    def __init__(self, prefix: str, what: str) -> None:
        self.prefix = prefix
        self._what = what

    def target(self, key: str) -> str:
        name, slash, target = key.partition("/")
        if not slash or name != self.prefix:
            raise StrategicMergeError(f"invalid patch format of {self._what}", code=400)
        return target


SetOrder = Prefix("$setElementOrder", "setElementOrder list")
DeleteFrom = Prefix("$deleteFromPrimitiveList", "primitive list")


class Meta:
    """A type as strategic merge sees it. An untyped one (None) is that of a scalar, which nothing merges into."""

    __slots__ = ("_type",)

    def __init__(self, type: Type | None) -> None:
        self._type = type

    @property
    def go_kind(self) -> str:
        return _KINDS.get(self._type.kind, self._type.kind) if self._type is not None else "interface"

    def of_object(self, key: str) -> tuple[Meta, str]:
        """The type of a member, and its strategy."""
        field = self._field(key)
        return Meta(field.type), _strategy(field)

    def of_list(self, key: str) -> tuple[Meta, str, str]:
        """The type of a list's elements, its strategy and its merge key."""
        field = self._field(key)
        if field.type.kind != "list":
            raise StrategicMergeError(f"expected slice or array type, but got: {self.go_kind}")
        return Meta(field.type.element), _strategy(field), field.merge_key

    def _field(self, key: str) -> Field:
        if self._type is None or self._type.kind not in ("object", "any"):
            raise StrategicMergeError(
                f"merging an object in json but data type is not struct, instead is: {self.go_kind}"
            )
        field = self._type.fields.get(key)
        if field is None:
            name = self._type.name.rpartition(".")[2]
            raise StrategicMergeError(f'unable to find api field in struct {name} for the json field "{key}"')
        return field


def _strategy(field: Field) -> str:
    """The strategy without retainKeys, which the patch itself asks for."""
    return next((name for name in field.patch_strategy if name != "retainKeys"), "")


def without_directives(value: Any) -> Any:
    """A value of the patch that is taken as it is: objects that carry a directive are left out."""
    if isinstance(value, dict):
        return {key: without_directives(item) for key, item in value.items() if not _directs(item)}
    if isinstance(value, list):
        return [without_directives(item) for item in value if not _directs(item)]
    return value


def _directs(value: Any) -> bool:
    return isinstance(value, dict) and DIRECTIVE in value
