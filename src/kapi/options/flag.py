"""A flag, declared once: as a field of its group's dataclass, with its kind, help, default and standing.

The field's name is the flag's name (`etcd_servers` is `--etcd-servers`), so the two cannot differ. Parsing, help,
`docs/flags.md` and validation all read these declarations; nothing else knows a flag's default or meaning.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Generic, Protocol, TypeVar, cast

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind(Generic[T]):
    """A type of flag value: how it is read, written and, when the flag is repeated, joined."""

    name: str  # as help calls it
    zero: T
    parse: Callable[[str], T]  # ValueError says what is wrong with the text
    show: Callable[[T], str]
    join: Callable[[T, T], T] | None = None  # None: the last one wins
    bare: str = ""  # what `--flag` without a value means; empty: it needs one


@dataclass(frozen=True, slots=True)
class Supported:
    """The flag does what it says. `note` is for `docs/flags.md`: in which way kapi's own differs, if it does."""

    note: str = ""


@dataclass(frozen=True, slots=True)
class Later:
    """Accepted and checked, but its mechanism is still to come: a warning at start says what happens meanwhile.

    Values in `agrees` ask for what happens meanwhile anyway, and need no warning.
    """

    meanwhile: str
    agrees: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True)
class Refused:
    """Refused when set to anything but its default (or a value in `agrees`, which asks for what happens anyway)."""

    reason: str
    agrees: tuple[Any, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Declaration:
    kind: Kind[Any]
    help: str
    default: Any
    short: str = ""
    also: tuple[str, ...] = ()  # older names of the same flag
    deprecated: str = ""
    standing: Supported | Later | Refused = Supported()
    check: Callable[[Any], str | None] | None = None  # what is wrong with a value that was read well, if anything


class Group(Protocol):
    """A group of flags: a dataclass whose fields are made by `flag`."""

    section: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def validate(self) -> list[str]:
        """What is wrong with the group's flags taken together."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """A declared flag, with the place of its value."""

    name: str
    section: str
    place: tuple[str, str]  # the group's attribute of all options, and the flag's of the group
    declared: Declaration


def flag(
    kind: Kind[T],
    help: str,
    *,
    default: T | None = None,
    short: str = "",
    also: tuple[str, ...] = (),
    deprecated: str = "",
    standing: Supported | Later | Refused = Supported(),  # noqa: B008 - frozen, without state
    check: Callable[[T], str | None] | None = None,
) -> T:
    """Declare a flag. Without a default it is its kind's zero."""
    value = kind.zero if default is None else default
    declared = Declaration(
        kind=kind,
        help=help,
        default=value,
        short=short,
        also=also,
        deprecated=deprecated,
        standing=standing,
        check=check,
    )
    metadata = {"flag": declared}
    if isinstance(value, dict):
        return cast(T, field(default_factory=lambda: dict(value), metadata=metadata))
    return field(default=value, metadata=metadata)


def flags_of(attribute: str, group: type[Group]) -> Iterator[Flag]:
    """The flags of a group that is found under that attribute."""
    for item in fields(group):
        yield Flag(
            name=item.name.replace("_", "-"),
            section=group.section,
            place=(attribute, item.name),
            declared=item.metadata["flag"],
        )
