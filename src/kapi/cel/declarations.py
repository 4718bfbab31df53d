"""What a caller says about its data: types with their fields, and bounds for the cost of expressions.

A caller builds these from its schemas; `schemas.declaration` does it from a plain structural schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from kapi.cel.escaping import RESERVED
from kapi.cel.types import BOOL, DOUBLE, DYN, INT, STRING, CelType, list_of, map_of

UNBOUNDED = 2**63 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    """One field of an object: its JSON name (the mapping's key is the escaped one) and what it holds."""

    name: str
    declaration: Declaration


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Declaration:
    """A type with bounds. `max_elements` limits a size, `min_size` is the least JSON a value takes."""

    type: CelType
    fields: Mapping[str, Field] = field(default_factory=dict)
    key: Declaration | None = None
    element: Declaration | None = None
    max_elements: int = 0
    min_size: int = 2
    list_type: str = ""
    list_keys: tuple[str, ...] = ()
    open_fields: bool = False

    def find(self, name: str) -> Field | None:
        found = self.fields.get(name)
        if found is None and name in RESERVED:
            # A keyword after a dot needs no escaping.
            found = self.fields.get(f"__{name}__")
        if found is None and self.open_fields:
            return Field(name=name, declaration=ANYTHING)
        return found


ANYTHING = Declaration(type=DYN, min_size=1)
BOOLEAN = Declaration(type=BOOL, min_size=4)
INTEGER = Declaration(type=INT, min_size=1)
NUMBER = Declaration(type=DOUBLE, min_size=1)
TEXT = Declaration(type=STRING, min_size=2, max_elements=UNBOUNDED)


def array_of(
    element: Declaration, max_items: int, *, list_type: str = "", list_keys: tuple[str, ...] = ()
) -> Declaration:
    return Declaration(
        type=list_of(element.type), element=element, max_elements=max_items, list_type=list_type, list_keys=list_keys
    )


def mapping_of(element: Declaration, max_properties: int) -> Declaration:
    return Declaration(type=map_of(STRING, element.type), key=TEXT, element=element, max_elements=max_properties)


def object_of(name: str, fields: Mapping[str, Field], *, min_size: int = 2) -> Declaration:
    declaration = Declaration(type=CelType("struct", name), fields=fields, min_size=min_size)
    return _with_type(declaration, CelType("struct", name, (), declaration))


def named(declaration: Declaration, name: str) -> Declaration:
    """The same declaration with its anonymous objects named by their path, so that types can be told apart."""
    kind = declaration.type.kind
    if kind == "struct" and declaration.type.name == "object":
        fields = {
            key: Field(name=entry.name, declaration=named(entry.declaration, f"{name}.{key}"))
            for key, entry in declaration.fields.items()
        }
        return object_of(name, fields, min_size=declaration.min_size)
    if declaration.element is None:
        return declaration
    element = named(declaration.element, f"{name}.{'@elem' if kind == 'map' else '@idx'}")
    made = map_of(STRING, element.type) if kind == "map" else list_of(element.type)
    return replace(declaration, type=made, element=element)


def _with_type(declaration: Declaration, declared: CelType) -> Declaration:
    # The type refers to the declaration that refers to it: a cycle that only construction may tie.
    object.__setattr__(declaration, "type", declared)
    return declaration


def structs_of(declaration: Declaration) -> dict[str, Declaration]:
    """Every object type reachable from here, by name."""
    found: dict[str, Declaration] = {}
    pending = [declaration]
    while pending:
        current = pending.pop()
        if current.type.kind == "struct" and current.type.name not in found:
            found[current.type.name] = current
            pending.extend(entry.declaration for entry in current.fields.values())
        elif current.element is not None:
            pending.append(current.element)
    return found
