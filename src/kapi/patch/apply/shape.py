"""Shapes: types compiled for apply. What merges as one value, what by its members, what by its elements.

A shape is made from a Type once and kept with it. Objects and maps are one shape: named members, and one shape for all
others. Where a type says nothing, the value decides: objects merge by member, everything else as one value.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import eq
from typing import Any, Literal, TypeAlias

from kapi.api.objects import Object
from kapi.patch.apply.elements import keyed, scalar
from kapi.patch.values import same
from kapi.schema.types import Type

Kind: TypeAlias = Literal["scalar", "object", "list", "any"]

_TIMES = ("date-time", "micro-time")
# Of any type, but one value: int-or-string, quantities, raw objects of built-in types.
_OPAQUE = ("int-or-string", "quantity", "raw")


class ElementError(ValueError):
    """An element of a list that cannot be told from the others."""


class Shape:
    """How values of a type merge. `leaf` values are replaced whole."""

    __slots__ = ("element", "equal", "keys", "kind", "leaf", "members", "others", "set_of", "type", "zero")

    def __init__(self, type: Type) -> None:
        self.type = type
        self.kind: Kind = _kind(type)
        self.leaf = self.kind == "scalar" or (self.kind != "any" and type.topology == "atomic")
        self.members = _Members(type)
        self.others: Shape | None = None  # of members that have no name in the type
        self.element: Shape = self  # of a list
        self.keys: tuple[str, ...] = ()
        self.set_of = self.kind == "list" and not type.map_keys
        self.equal: Callable[[Any, Any], bool] | None = None
        self.zero: Object | None = None

    def member(self, name: str) -> Shape | None:
        """The shape of a member; None when the type has no such field."""
        return self.members.get(name) or self.members.resolve(name) or self.others

    def declares(self, name: str) -> bool:
        return name in self.type.fields

    def element_of(self, item: Any) -> str:
        """The path element of a list's item; ElementError when it has none."""
        return _set_element(item) if self.set_of else self._keyed_element(item)

    def find_element(self, item: Any) -> str | None:
        """The path element of a list's item; None when it has none."""
        try:
            return self.element_of(item)
        except ElementError:
            return None

    def index(self, items: Any) -> dict[str, list[Any]]:
        """A list's items by their path element; items that have none belong to nobody."""
        index: dict[str, list[Any]] = {}
        for item in items or ():
            element = self.find_element(item)
            if element is not None:
                index.setdefault(element, []).append(item)
        return index

    def whole_index(self, items: Any) -> dict[str, list[Any]]:
        """A list's items by their path element; ElementError when one has none."""
        index: dict[str, list[Any]] = {}
        for item in items or ():
            index.setdefault(self.element_of(item), []).append(item)
        return index

    def _keyed_element(self, item: Any) -> str:
        if not isinstance(item, dict):
            what = "a null element" if item is None else "non-map elements"
            raise ElementError(f"associative list with keys may not have {what}")
        pairs = []
        for key in self.keys:
            if key in item:
                pairs.append((key, item[key]))
            else:
                field = self.element.type.fields.get(key)
                if field is not None and field.has_default and field.default is not None:
                    pairs.append((key, field.default))
        if not pairs:
            names = " ".join(f'"{key}"' for key in self.type.map_keys)
            raise ElementError(
                f"associative list with keys has an element that omits all key fields [{names}] "
                "(and doesn't have default values for any key fields)"
            )
        return keyed(pairs)


class _Members(dict[str, Shape]):
    """Shapes of named members, made when first asked for: types may be recursive."""

    __slots__ = ("_fields", "open")

    def __init__(self, type: Type) -> None:
        self._fields = type.fields
        self.open = False  # preserves unknown fields

    def resolve(self, name: str) -> Shape | None:
        field = self._fields.get(name)
        if field is None:
            return None
        found = self[name] = shape_of(field.type, within_open=self.open)
        return found


def _set_element(item: Any) -> str:
    if isinstance(item, dict):
        raise ElementError("associative list without keys has an element that's a map type")
    if isinstance(item, list):
        raise ElementError("not supported: associative list with lists as elements")
    if item is None:
        raise ElementError("associative list without keys has an element that's an explicit null")
    return f"v:{scalar(item)}"


def shape_of(type: Type, *, within_open: bool = False) -> Shape:
    """The shape of a type, made on first use.

    As upstream reads schemas for apply, a type that preserves unknown fields opens the types inside it as well.
    """
    shape: Shape | None = type.shape
    if shape is None:
        shape = type.shape = Shape(type)
        is_open = type.preserve_unknown or (within_open and not type.name)
        shape.members.open = is_open
        if type.kind == "map":
            shape.others = shape_of(type.element, within_open=is_open) if type.element is not None else ANY
        elif shape.kind == "list":
            shape.element = shape_of(type.element, within_open=is_open) if type.element is not None else ANY
            shape.keys = tuple(sorted(type.map_keys))
        elif shape.kind == "any" or is_open:
            shape.others = ANY
    return shape


def _kind(type: Type) -> Kind:
    if type.int_or_string or type.format in _OPAQUE:
        return "scalar"
    if type.kind in ("object", "map"):
        return "object"
    if type.kind == "list":
        return "list"
    return "any" if type.kind == "any" else "scalar"


def _untyped() -> Shape:
    shape = Shape(Type("any", preserve_unknown=True))
    shape.others = shape
    return shape


ANY = _untyped()


def equality(shape: Shape) -> Callable[[Any, Any], bool]:
    """How to compare values of a shape: plain `==`, unless something below is untyped and may turn from 1 into true."""
    if shape.equal is None:
        shape.equal = same if _has_untyped(shape.type) else eq
    return shape.equal


def _has_untyped(type: Type) -> bool:
    seen: set[int] = set()
    todo = [type]
    while todo:
        each = todo.pop()
        if id(each) in seen:
            continue
        seen.add(id(each))
        if each.kind == "any" or each.preserve_unknown:
            return True
        todo.extend(field.type for name, field in each.fields.items() if name != "managedFields")
        if each.element is not None:
            todo.append(each.element)
    return False


def zero_of(type: Type) -> Object:
    """What a built-in type's object holds before anything is set: its embedded objects, and members always written.

    The same object each time: not to be changed.

    Nobody owns what merely exists because the type has it, so creating is measured against this. Custom resources have
    no such members: their types bear no name.
    """
    shape = shape_of(type)
    if shape.zero is None:
        shape.zero = _zero(type) if type.name else {}
    return shape.zero


def _zero(type: Type) -> Object:
    out: Object = {}
    for name, field in type.fields.items():
        embedded = field.has_default and field.default == {} and field.type.kind == "object"
        go = field.go
        if go is None:
            always = field.required
        elif go.omit_zero:
            always = embedded = False
        else:
            always = not go.omit_empty or (not go.pointer and field.type.format in _TIMES)
        if embedded:
            out[name] = _zero(field.type)
        elif always:
            out[name] = field.default
    return out
