"""Types compiled into closures: one walk over a decoded JSON value does what Go's typed codec does to it.

The walk checks JSON types, collects and drops unknown fields, canonicalises what has a canonical form, writes declared
defaults, and leaves the object as Go would write it: empty optional fields gone, mandatory ones present. It changes the
value in place. What it knows of a struct it learns when the first value of that type comes by.

Problems are paths of unknown fields, as suffixes that grow on the way up (`.foo`, `[0].foo`, `.containers[0].foo`), so
that a clean object never pays for paths. A value of the wrong type raises TypeMismatch, whose path grows likewise.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeAlias

from kapi.schema.empties import EmptyList, EmptyMap
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import go_name
from kapi.schema.scalars import ABSENT, scalar
from kapi.schema.types import Field, Type

Decode: TypeAlias = Callable[[Any, list[str]], Any]
Make: TypeAlias = Callable[[], Any]


# As many problems as upstream keeps.
MAX_PROBLEMS = 100
_EMPTIES: Mapping[type, type] = {list: EmptyList, dict: EmptyMap, EmptyList: EmptyList, EmptyMap: EmptyMap}
_SETTLED = frozenset((EmptyList, EmptyMap))  # what an earlier walk left


class Compiled(NamedTuple):
    """What a type does to values."""

    accepts: type | None  # the class of values `decode` is for; None when it judges for itself
    decode: Decode | None  # None when every value of the class is fine as it is
    zero: Make  # what Go writes for its zero value


class _Entry(NamedTuple):
    accepts: type | None
    drops_empty: bool
    decode: Decode | None
    go_type: str


def decode(type_: Type, value: Any) -> list[str]:
    """Check and settle an object in place: the paths of its unknown fields, in order. TypeMismatch if it is amiss."""
    problems: list[str] = []
    found = compiled(type_)
    if found.decode is not None:
        try:
            found.decode(value, problems)
        except TypeMismatch as mismatch:
            from kapi.schema.unmarshalers import first_unread  # only what is refused is looked at again

            raise first_unread(value, type_) or mismatch from None
    return [problem[1:] for problem in problems]


def zero(type_: Type) -> Any:
    """What Go writes for a type's zero value: `{}` for most structs, mandatory fields and defaults for others."""
    return compiled(type_).zero()


def compiled(type_: Type, go_type: str = "") -> Compiled:
    """`go_type` is what Go calls it, where that is known: `[]types.UID`, whose schema is one of strings."""
    found: Compiled | None = type_.compiled
    if found is None:
        found = type_.compiled = _compile(type_, go_type)
    return found


def _compile(type_: Type, go_type: str) -> Compiled:
    if type_.kind == "object":
        return _Struct(type_).compiled()
    if type_.kind == "list":
        return Compiled(list, _list(type_, go_type), _nothing)
    if type_.kind == "map":
        return Compiled(dict, _map(type_, go_type), _nothing)
    if type_.format == "json" or type_.format.startswith("schema-or-"):
        from kapi.schema.json_schema import part_of_schema  # only CRDs have these

        return part_of_schema(type_.format)
    accepts, check, empty = scalar(type_)
    return Compiled(accepts, check, lambda: empty)


def _nothing() -> None:
    """The zero value of lists, maps and pointers."""


class _Struct:
    """A struct's fields, compiled when the first value comes by: types are recursive, and most are never used."""

    __slots__ = ("_always", "_always_names", "_entries", "_name", "_type")

    def __init__(self, type_: Type) -> None:
        self._type = type_
        self._name = type_.name.rpartition(".")[2]
        self._entries: Mapping[str, _Entry] | None = None
        self._always: tuple[tuple[str, Make], ...] = ()
        self._always_names: frozenset[str] = frozenset()

    def compiled(self) -> Compiled:
        return Compiled(dict, self.decode, self.zero)

    def zero(self) -> dict[str, Any]:
        if self._entries is None:
            self._prepare()
        return {name: make() for name, make in self._always}

    def decode(self, value: dict[str, Any], problems: list[str]) -> dict[str, Any]:
        entries = self._entries
        if entries is None:
            entries = self._prepare()
        gone: list[str] = []
        mark = len(problems)
        key = ""
        try:
            for key, item in value.items():
                try:
                    accepts, drops_empty, check, go_type = entries[key]
                except KeyError:
                    if mark < MAX_PROBLEMS:
                        problems.append(f".{key}")
                        mark += 1
                    gone.append(key)
                    continue
                if item.__class__ is not accepts and accepts is not None:
                    if item is not None and item.__class__ not in _SETTLED:
                        raise TypeMismatch(item, go_type)
                elif check is not None and item is not None:
                    settled = check(item, problems)
                    if settled is not item:
                        value[key] = item = None if settled is ABSENT else settled
                    if len(problems) != mark:
                        problems[mark:] = [f".{key}{problem}" for problem in problems[mark:]]
                        mark = len(problems)
                if item is None or (drops_empty and not item):
                    gone.append(key)
        except TypeMismatch as mismatch:
            mismatch.inside(self._name, self._type.fields[key].go, key)
            raise
        for key in gone:
            empty = _EMPTIES.get(value[key].__class__) if key in self._always_names else None
            if empty is None:
                del value[key]
            else:
                value[key] = empty()
        if not value.keys() >= self._always_names:
            for key, make in self._always:
                if key not in value:
                    value[key] = make()
        return value

    def _prepare(self) -> Mapping[str, _Entry]:
        entries: dict[str, _Entry] = {}
        always: list[tuple[str, Make]] = []
        for name, field in self._type.fields.items():
            go_type = _go_type(field)
            found = compiled(field.type, go_type)
            entries[name] = _Entry(found.accepts, _drops_empty(field), found.decode, go_type)
            make = _written_when_absent(field, found)
            if make is not None:
                always.append((name, make))
        self._always = tuple(always)
        self._always_names = frozenset(name for name, _ in always)
        self._entries = entries
        return entries


def _go_type(field: Field) -> str:
    return field.go.type if field.go is not None else go_name(field.type)


def _is_struct(type_: Type) -> bool:
    """A type that Go never finds empty."""
    return type_.kind in ("object", "any") or type_.format in ("quantity", "int-or-string", "date-time", "micro-time")


def _drops_empty(field: Field) -> bool:
    """Whether empty strings, lists, maps, zero and false are left out."""
    go = field.go
    if go is None or go.keeps_empty:
        return False
    if go.pointer or _is_struct(field.type):
        return False
    # A list or map is read back from the store as nil when it is empty, and null is written if the field is mandatory.
    return go.omit_empty or field.type.kind in ("list", "map")


def _written_when_absent(field: Field, found: Compiled) -> Make | None:
    """What the field holds when nobody set it; None when it is left out."""
    go = field.go
    if go is None:
        return None
    if field.has_default and (go.pointer or field.default):
        default = field.default
        return lambda: default
    if go.pointer:
        return None if go.omit_empty else _nothing
    if go.omit_zero or (go.omit_empty and not _is_struct(field.type)):
        return None
    return found.zero


def _element(type_: Type, go_type: str, prefix: str) -> tuple[Compiled, str]:
    """The compiled type of a list's or map's elements, and what Go calls it."""
    element = type_.element
    if element is None:
        return Compiled(None, None, _nothing), ""
    name = go_type.removeprefix(prefix) if go_type.startswith(prefix) else go_name(element)
    found = compiled(element, name)
    if element.format == "byte":
        found = found._replace(zero=str)  # as bytes without content are read back from the store
    return found, name


def _list(type_: Type, of: str) -> Decode:
    plan: list[tuple[Compiled, str]] = []

    def decode_list(value: list[Any], problems: list[str]) -> list[Any]:
        if not plan:
            plan.append(_element(type_, of, "[]"))
        (accepts, check, make), go_type = plan[0]
        mark = len(problems)
        for index, item in enumerate(value):
            if item is None:
                value[index] = make()
            elif item.__class__ is not accepts and accepts is not None:
                raise TypeMismatch(item, go_type)
            elif check is not None:
                settled = check(item, problems)
                if settled is not item:
                    value[index] = make() if settled is ABSENT else settled
                if len(problems) != mark:
                    problems[mark:] = [f"[{index}]{problem}" for problem in problems[mark:]]
                    mark = len(problems)
        return value

    return decode_list


def _map(type_: Type, of: str) -> Decode:
    plan: list[tuple[Compiled, str]] = []

    def decode_map(value: dict[str, Any], problems: list[str]) -> dict[str, Any]:
        if not plan:
            plan.append(_element(type_, of, of.partition("]")[0] + "]"))
        (accepts, check, make), go_type = plan[0]
        mark = len(problems)
        for key, item in value.items():
            if item is None:
                value[key] = make()
            elif item.__class__ is not accepts and accepts is not None:
                raise TypeMismatch(item, go_type)
            elif check is not None:
                settled = check(item, problems)
                if settled is not item:
                    value[key] = make() if settled is ABSENT else settled
                if len(problems) != mark:
                    problems[mark:] = [f".{key}{problem}" for problem in problems[mark:]]
                    mark = len(problems)
        return value

    return decode_map
