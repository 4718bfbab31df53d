"""Server-side apply: merge a configuration into an object, take out what its manager no longer sets, find conflicts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from kapi.api.objects import Object
from kapi.patch.apply import last_applied, managed
from kapi.patch.apply.check import problems
from kapi.patch.apply.compare import changes, strip
from kapi.patch.apply.fieldset import Fields, Filter, intersection, path_text, paths
from kapi.patch.apply.managed import Manager, Managers, Owned
from kapi.patch.apply.merge import merge
from kapi.patch.apply.prune import Pruner
from kapi.patch.apply.shape import ElementError, Shape, shape_of
from kapi.patch.apply.typed import field_set, reconciled
from kapi.patch.apply.update import Convert, Views, adopt, filtered, relinquished
from kapi.patch.errors import ApplyConflict, BadPatch, Conflict, InvalidApply
from kapi.patch.values import copied, same
from kapi.schema.types import Type

_BEFORE_FIRST_APPLY = "before-first-apply"

_Found: TypeAlias = tuple[Manager, tuple[str, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Applier:
    """Who applies, through which endpoint."""

    manager: str
    api_version: str
    kind: str
    now: str
    force: bool = False
    subresource: str = ""
    reset: Filter | None = None  # leaves out what this endpoint does not write
    convert: Convert | None = None


class _Conflicts(Exception):
    def __init__(self, found: list[_Found]) -> None:
        super().__init__()
        self.found = found


def apply(live: Object | None, config: Object, type: Type, by: Applier) -> Object:
    """The object after a configuration was applied to it, or created from it (live is None).

    The result is not defaulted yet, and may hold nulls that decoding drops. Raises BadPatch (400), InvalidApply (500)
    or ApplyConflict (409).
    """
    shape = shape_of(type)
    _check(config, shape, by)
    if live is None:
        return _created(config, shape, by)
    managers = managed.decode(managed.entries_of(live), trusted=True)
    if not managers:
        first = managed.updater(_BEFORE_FIRST_APPLY, by.api_version, by.subresource)
        try:
            managers = adopt(live, type, first, by.now, by.reset)
        except ElementError:
            why = f"failed to convert new object ({_identity(live)}) to smd typed: {problems(live, shape)}"
            raise InvalidApply(f"failed to create manager for existing fields: {why}") from None
    try:
        result = _applied(live, config, shape, managers, by, force=by.force)
    except ElementError:
        why = f"failed to create typed live object ({_identity(live)}): {problems(live, shape)}"
        raise InvalidApply(why) from None
    except _Conflicts as conflicts:
        if by.manager == last_applied.KUBECTL:
            rest = last_applied.not_excused(conflicts.found, live, type, by.api_version)
            if rest:
                raise refusal(rest) from None
            result = _applied(live, config, shape, managers, by, force=True)
        else:
            raise refusal(conflicts.found) from None
    if by.manager == last_applied.KUBECTL:
        last_applied.refresh(result, config)
    return result


def _check(config: Object, shape: Shape, by: Applier) -> None:
    if (config.get("apiVersion") or "") != by.api_version or (config.get("kind") or "") != by.kind:
        raise BadPatch(f"invalid object type: {_kind_of(config)}")
    metadata = config.get("metadata") or {}
    if isinstance(metadata, dict) and metadata.get("managedFields") is not None:
        raise BadPatch("metadata.managedFields must be nil")
    text = problems(config, shape)
    if text:
        raise InvalidApply(f"failed to create typed patch object ({_identity(config)}): {text}")


def unconvertible(config: Object, why: str) -> InvalidApply:
    """An applied configuration that is fine by its schema, yet leaves no object of its kind."""
    what = f"unable to convert unstructured object to {_kind_of(config)}"
    return InvalidApply(f"failed to convert new object ({_identity(config)}) to proper version: {what}: {why}")


def _identity(config: Object) -> str:
    """An applied configuration, as messages name it."""
    metadata = config.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    return f"{metadata.get('namespace') or ''}/{metadata.get('name') or ''}; {_kind_of(config)}"


def _kind_of(config: Object) -> str:
    said, kind = config.get("apiVersion"), config.get("kind")
    group, _, version = (said if isinstance(said, str) else "").rpartition("/")
    if "/" in group:
        return "/, Kind="  # as upstream shows what it cannot take apart
    return f"{group}/{version}, Kind={kind if isinstance(kind, str) else ''}"


def _owned_by(config: Object, shape: Shape, by: Applier) -> Fields:
    fields = field_set(config, shape)
    return by.reset(fields) if by.reset is not None else fields


def _created(config: Object, shape: Shape, by: Applier) -> Object:
    result = copied(config)
    if result.get("metadata") is None:
        result["metadata"] = {}
    fields = strip(_owned_by(config, shape, by))
    me = managed.applier(by.manager, by.subresource)
    managed.store(result, {me: Owned(fields, by.api_version, by.now)} if fields else {})
    return result


def _applied(live: Object, config: Object, shape: Shape, managers: Managers, by: Applier, *, force: bool) -> Object:
    me = managed.applier(by.manager, by.subresource)
    managers = _reconciled(managers, live, shape, by)
    last = managers.pop(me, None)
    fields = _owned_by(config, shape, by)
    mine = Owned(fields, by.api_version, last.time if last is not None else None)
    merged = merge(live, config, shape)
    new = Pruner(shape, by.api_version, by.convert).prune(merged, {**managers, me: mine}, last, fields)
    found = filtered(changes(live, new, shape), by.reset)
    views = Views(live, new, by.api_version, found, by.reset, by.convert)
    if not force:
        _refuse_conflicts(managers, views)
    left = relinquished(managers, views)
    fields = strip(fields)
    if fields:
        # As upstream: who only joins the owners of what is there already has no time of its own.
        left[me] = mine._replace(fields=fields) if same(live, new) else Owned(fields, by.api_version, by.now)
    result = copied(new)
    managed.store(result, left)
    return result


def _reconciled(managers: Managers, live: Object, shape: Shape, by: Applier) -> Managers:
    """The managers as today's schemas have what they own, each in its own version."""
    found: Managers = {}
    for manager, owned in managers.items():
        seen: Shape | None = shape
        if by.convert is not None and owned.api_version != by.api_version:
            converted = by.convert(live, owned.api_version)
            seen = shape_of(converted[1]) if converted is not None else None
        if seen is not None:
            found[manager] = owned._replace(fields=reconciled(owned.fields, seen))
    return found


def _refuse_conflicts(managers: Managers, views: Views) -> None:
    found: list[_Found] = []
    for manager in sorted(managers, key=lambda each: each.identifier):
        seen = views.changes(managers[manager].api_version)
        if seen is not None:
            found += [(manager, path) for path in paths(intersection(managers[manager].fields, seen.changed))]
    if found:
        raise _Conflicts(found)


def refusal(found: Sequence[_Found]) -> ApplyConflict:
    """The conflicts as the client reads them, grouped by manager."""
    conflicts = [Conflict(manager.described(), path_text(path)) for manager, path in found]
    if len(conflicts) == 1:
        only = conflicts[0]
        return ApplyConflict(f"Apply failed with 1 conflict: conflict with {only.manager}: {only.path}", conflicts)
    lines: list[str] = []
    last: Manager | None = None
    for (manager, _), conflict in zip(found, conflicts, strict=True):
        if manager != last:
            lines.append(f"conflicts with {conflict.manager}:")
            last = manager
        lines.append(f"- {conflict.path}")
    return ApplyConflict(f"Apply failed with {len(conflicts)} conflicts: " + "\n".join(lines), conflicts)
