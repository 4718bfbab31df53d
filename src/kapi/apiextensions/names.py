"""Accepted names: within a group every resource's names are its own; who comes second waits until they are free."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.api.fields import go_quote
from kapi.apiextensions.definition import DefinedNames


def decide(
    requested: DefinedNames, accepted: DefinedNames, others: Iterable[DefinedNames]
) -> tuple[DefinedNames, tuple[str, str] | None]:
    """The names to accept now, and the conflict that remains: its reason and message. The last one counts."""
    resources: set[str] = set()
    kinds: set[str] = set()
    for other in others:
        resources |= {other.plural, other.singular, *other.short_names}
        kinds |= {other.kind, other.list_kind}
    conflict: tuple[str, str] | None = None
    given: dict[str, str] = {}
    for field, used, reason in (
        ("plural", resources, "PluralConflict"),
        ("singular", resources, "SingularConflict"),
    ):
        given[field], conflict = _one(requested, accepted, field, used, reason, conflict)
    short_names = accepted.short_names
    taken = [n for n in requested.short_names if n not in accepted.short_names and n in resources]
    if taken:
        conflict = ("ShortNamesConflict", _aggregate([_in_use(name) for name in taken]))
    else:
        short_names = requested.short_names
    for field, used, reason in (("kind", kinds, "KindConflict"), ("list_kind", kinds, "ListKindConflict")):
        given[field], conflict = _one(requested, accepted, field, used, reason, conflict)
    names = DefinedNames(
        given["plural"], given["singular"], short_names, given["kind"], given["list_kind"], requested.categories
    )
    return names, conflict


def _one(
    requested: DefinedNames,
    accepted: DefinedNames,
    field: str,
    used: set[str],
    reason: str,
    conflict: tuple[str, str] | None,
) -> tuple[str, tuple[str, str] | None]:
    wanted, had = getattr(requested, field), getattr(accepted, field)
    if wanted != had and wanted in used:
        return had, (reason, _in_use(wanted))
    return wanted, conflict


def _in_use(name: str) -> str:
    return f"{go_quote(name)} is already in use"


def _aggregate(messages: list[str]) -> str:
    distinct = list(dict.fromkeys(messages))
    return distinct[0] if len(distinct) == 1 else f"[{', '.join(distinct)}]"
