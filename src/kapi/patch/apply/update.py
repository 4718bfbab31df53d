"""What every write that is no apply does to the managers: who changes a field owns it, and no one else does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kapi.api.objects import Object
from kapi.patch.apply import managed
from kapi.patch.apply.compare import Changes, changes
from kapi.patch.apply.fieldset import Fields, Filter, after_change, difference, union
from kapi.patch.apply.managed import Manager, Managers, Owned
from kapi.patch.apply.shape import ElementError, shape_of, zero_of
from kapi.schema.loader import registered_kinds
from kapi.schema.types import Type

# An object in another version of its group with that version's type; None when that version is gone.
Convert: TypeAlias = Callable[[Object, str], tuple[Object, Type] | None]


def track_update(
    live: Object | None,
    new: Object,
    type: Type,
    *,
    manager: str,
    api_version: str,
    now: str,
    subresource: str = "",
    reset: Filter | None = None,
    convert: Convert | None = None,
) -> None:
    """Set the new object's managedFields for a create, update or patch.

    `live` is None on create. Both objects are in `api_version`, defaulted, and not yet past admission: what admission
    changes is nobody's. `reset` filters out what this endpoint does not write. What the request says in managedFields
    counts on the main resource: entries replace the managers, an empty list (or one empty entry) forgets them.
    """
    named = _named(live, new) if not subresource else None
    managers = managed.decode(managed.entries_of(live), trusted=True) if named is None else named
    if live is not None and not managers:
        # Forgotten managers are not tracked again before the next apply.
        new["metadata"].pop("managedFields", None)
        return
    old = live if live is not None else zero_of(type)
    try:
        found = filtered(changes(old, new, shape_of(type)), reset)
    except ElementError:
        # As upstream: elements that cannot be told apart are not tracked, and the managers stay as they were.
        new["metadata"].pop("managedFields", None)
        if live is not None:
            new["metadata"]["managedFields"] = managed.entries_of(live)
        return
    if found.changed or found.removed or convert is not None:
        me = managed.updater(manager, api_version, subresource)
        views = Views(old, new, api_version, found, reset, convert)
        managers = managed.capped(_taken_over(relinquished(managers, views), me, found.changed, now))
    elif live is not None and named is None:
        new["metadata"]["managedFields"] = managed.entries_of(live)
        return
    # Also one that a client names: who owns nothing is no manager.
    managed.store(new, {manager: owned for manager, owned in managers.items() if owned.fields})


def adopt(live: Object, type: Type, first: Manager, now: str, reset: Filter | None) -> Managers:
    """The managers of an object that has none yet: all that is in it belongs to one. ElementError as of changes."""
    found = filtered(changes(zero_of(type), live, shape_of(type)), reset)
    return _taken_over({}, first, found.changed, now)


def _named(live: Object | None, new: Object) -> Managers | None:
    """The managers that the request itself names; None when it names none, or the same, or something malformed."""
    current = managed.entries_of(live)
    asked = new["metadata"].get("managedFields")
    if asked is None or asked is current or asked == current:
        return None
    if managed.is_reset(asked):
        return {}
    try:
        return managed.decode(asked, trusted=False) or None
    except (ValueError, AttributeError):
        return None


def _taken_over(managers: Managers, me: Manager, changed: Fields, now: str) -> Managers:
    if changed:
        before = managers.get(me)
        fields = union(before.fields, changed) if before is not None else changed
        managers[me] = Owned(fields, me.api_version, now)
    return managers


def filtered(found: Changes, reset: Filter | None) -> Changes:
    return found if reset is None else Changes(reset(found.changed), reset(found.removed))


class Views:
    """One write's changes, as each version that a manager wrote in sees them."""

    __slots__ = ("_convert", "_found", "_known", "_new", "_old", "_reset")

    def __init__(
        self, old: Object, new: Object, version: str, found: Changes, reset: Filter | None, convert: Convert | None
    ) -> None:
        self._old, self._new = old, new
        self._reset, self._convert = reset, convert
        self._found = found
        self._known: dict[str, Changes | None] = {version: found}

    def changes(self, version: str) -> Changes | None:
        """None where that version is gone, and with it its managers."""
        if version not in self._known:
            self._known[version] = self._converted(version)
        return self._known[version]

    def _converted(self, version: str) -> Changes | None:
        if self._convert is None:
            return self._found if self._new.get("kind") in registered_kinds(version) else None
        before, after = self._convert(self._old, version), self._convert(self._new, version)
        if before is None or after is None:
            return None
        return filtered(changes(before[0], after[0], shape_of(after[1])), self._reset)


def relinquished(managers: Managers, views: Views) -> Managers:
    """The managers after these changes: nobody owns what changed or is gone, who owns nothing is no manager."""
    left: Managers = {}
    for manager, owned in managers.items():
        seen = views.changes(owned.api_version)
        if seen is None:
            continue
        fields = difference(after_change(owned.fields, seen.changed), seen.removed)
        if fields:
            left[manager] = owned if fields is owned.fields else owned._replace(fields=fields)
    return left
