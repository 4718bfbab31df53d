"""CEL's types: values that the checker compares, substitutes and prints."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from kapi.cel.declarations import Declaration


@dataclass(frozen=True, slots=True)
class CelType:
    """`declaration` says which fields a struct has; it takes no part in equality."""

    kind: str
    name: str
    params: tuple[CelType, ...] = ()
    declaration: Declaration | None = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        return format_type(self)


BOOL = CelType("bool", "bool")
INT = CelType("int", "int")
UINT = CelType("uint", "uint")
DOUBLE = CelType("double", "double")
STRING = CelType("string", "string")
BYTES = CelType("bytes", "bytes")
NULL = CelType("null", "null_type")
TIMESTAMP = CelType("timestamp", "google.protobuf.Timestamp")
DURATION = CelType("duration", "google.protobuf.Duration")
DYN = CelType("dyn", "dyn")
ANY = CelType("any", "google.protobuf.Any")
ERROR = CelType("error", "*error*")
TYPE = CelType("type", "type")

PRIMITIVES = frozenset({"bool", "int", "uint", "double", "string", "bytes"})
SCALARS = frozenset({"bool", "int", "uint", "double", "duration", "timestamp"})
_WORDS = {"any": "any", "duration": "duration", "error": "!error!", "null": "null", "timestamp": "timestamp"}


def list_of(element: CelType) -> CelType:
    return CelType("list", "list", (element,))


def map_of(key: CelType, value: CelType) -> CelType:
    return CelType("map", "map", (key, value))


def optional_of(value: CelType) -> CelType:
    return CelType("opaque", "optional_type", (value,))


def opaque(name: str) -> CelType:
    return CelType("opaque", name)


def struct(name: str) -> CelType:
    return CelType("struct", name)


def param(name: str) -> CelType:
    return CelType("param", name)


def type_of(inner: CelType) -> CelType:
    return CelType("type", "type", (inner,))


def is_dyn(t: CelType) -> bool:
    return t.kind in ("dyn", "any")


def is_optional(t: CelType) -> bool:
    return t.kind == "opaque" and t.name == "optional_type"


def unwrap_optional(t: CelType) -> tuple[CelType, bool]:
    return (t.params[0], True) if is_optional(t) else (t, False)


def format_type(t: CelType) -> str:
    """The type as cel-go writes it in messages."""
    word = _WORDS.get(t.kind)
    if word is not None:
        return word
    if not t.params:
        return t.name
    return f"{t.name}({', '.join(map(format_type, t.params))})"


def declared_name(t: CelType) -> str:
    """The type as its declaration writes it: `google.protobuf.Duration`, not `duration`."""
    if not t.params:
        return t.name
    return f"{t.name}({', '.join(map(declared_name, t.params))})"


def format_call(args: list[CelType], *, member: bool) -> str:
    """The signature of a call: `(int, string)`, or `string.(int)` on a receiver."""
    prefix = ""
    if member:
        prefix = format_type(args[0]) + "."
        args = args[1:]
    return f"{prefix}({', '.join(map(format_type, args))})"


def substitute(mapping: Mapping[CelType, CelType], t: CelType, *, to_dyn: bool = False) -> CelType:
    """Replace type parameters by what they are bound to; with to_dyn, the unbound ones by dyn."""
    while t.kind == "param":
        found = mapping.get(t)
        if found is None:
            return DYN if to_dyn else t
        t = found
    if not t.params:
        return t
    params = tuple(substitute(mapping, p, to_dyn=to_dyn) for p in t.params)
    return t if params == t.params else CelType(t.kind, t.name, params, t.declaration)
