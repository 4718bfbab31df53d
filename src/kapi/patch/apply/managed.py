"""The managers of an object's fields, as `metadata.managedFields` lists them.

Within a request they are a dict from a manager's identity to what it owns. Sets of managers that did not change are the
very objects that were read, so writing them back costs nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple, TypeAlias

from kapi.api.fields import go_quote
from kapi.api.objects import Object
from kapi.patch.apply.elements import scalar
from kapi.patch.apply.fieldset import Fields, parse, union
from kapi.patch.values import same

MAX_UPDATE_MANAGERS = 10
_ANCIENT = "ancient-changes"


class Manager(NamedTuple):
    """Who owns fields. Of updates the version is part of it, of applies it is not."""

    name: str
    operation: str  # Apply or Update
    api_version: str
    subresource: str = ""

    @property
    def identifier(self) -> str:
        """The text that managers are sorted by, as upstream."""
        members = (
            ("manager", self.name),
            ("operation", self.operation),
            ("apiVersion", self.api_version),
            ("subresource", self.subresource),
        )
        return "{" + ",".join(f'"{key}":{scalar(value)}' for key, value in members if value) + "}"

    def described(self) -> str:
        """As conflicts print it."""
        text = go_quote(self.name)
        if self.subresource:
            text += f" with subresource {go_quote(self.subresource)}"
        return f"{text} using {self.api_version}" if self.operation == "Update" else text


class Owned(NamedTuple):
    """What a manager owns, in which version, since when."""

    fields: Fields
    api_version: str
    time: str | None


Managers: TypeAlias = dict[Manager, Owned]


def applier(name: str, subresource: str) -> Manager:
    return Manager(name, "Apply", "", subresource)


def updater(name: str, api_version: str, subresource: str) -> Manager:
    return Manager(name or "unknown", "Update", api_version, subresource)


def entries_of(obj: Object | None) -> list[Object]:
    """The entries that an object carries."""
    return ((obj or {}).get("metadata") or {}).get("managedFields") or []


def decode(entries: Iterable[Any], *, trusted: bool) -> Managers:
    """The managers that entries list; ValueError when an entry is malformed.

    Entries that this server wrote are trusted to be canonical; those that a client wrote are parsed.
    """
    managers: Managers = {}
    for index, entry in enumerate(entries):
        fields = entry.get("fieldsV1") or {}
        if not trusted:
            problem = _problem(entry, index)
            if problem:
                raise ValueError(problem)
            fields = parse(fields)
        operation, version = entry["operation"], entry["apiVersion"]
        manager = Manager(
            entry.get("manager") or "",
            operation,
            version if operation == "Update" else "",
            entry.get("subresource") or "",
        )
        managers[manager] = Owned(fields, version, entry.get("time"))
    return managers


def _problem(entry: Any, index: int) -> str:
    if entry.get("operation") not in ("Apply", "Update"):
        return "operation must be `Apply` or `Update`"
    if not entry.get("apiVersion"):
        return "apiVersion must not be empty"
    fields_type = entry.get("fieldsType")
    if not fields_type:
        return f"missing fieldsType in managed fields entry {index}"
    if fields_type != "FieldsV1":
        return f"invalid fieldsType {go_quote(fields_type)} in managed fields entry {index}"
    return ""


def problem_with(entries: Any) -> str:
    """Why these entries are refused, as after an admission plugin wrote them; empty when they are fine."""
    try:
        decode(entries or [], trusted=False)
    except (ValueError, AttributeError) as error:
        return str(error)
    return ""


def encode(managers: Managers) -> list[Object]:
    """The entries for these managers, in the order the API lists them: applies first, then by time and name."""
    if len(managers) == 1:
        return [_entry(manager, owned) for manager, owned in managers.items()]
    ranked = sorted(managers.items(), key=_rank)
    return [_entry(manager, owned) for manager, owned in ranked]


def _rank(item: tuple[Manager, Owned]) -> tuple[str, ...]:
    manager, owned = item
    return (manager.operation, owned.time or "", manager.name, owned.api_version, manager.subresource)


def _entry(manager: Manager, owned: Owned) -> Object:
    entry: Object = {"manager": manager.name} if manager.name else {}
    entry["operation"] = manager.operation
    entry["apiVersion"] = owned.api_version
    if owned.time:
        entry["time"] = owned.time
    entry["fieldsType"] = "FieldsV1"
    entry["fieldsV1"] = owned.fields
    if manager.subresource:
        entry["subresource"] = manager.subresource
    return entry


def store(obj: Object, managers: Managers) -> None:
    """Write the managers into an object."""
    metadata = obj["metadata"] = obj.get("metadata") or {}
    metadata.pop("managedFields", None)
    if managers:
        metadata["managedFields"] = encode(managers)


def is_reset(entries: Any) -> bool:
    """Whether a client asks to forget all managers: an empty list, or one empty entry."""
    if not isinstance(entries, list):
        return False
    return not entries or (len(entries) == 1 and isinstance(entries[0], dict) and not any(entries[0].values()))


def capped(managers: Managers) -> Managers:
    """At most ten updaters: the oldest of a version are joined into one."""
    updaters = [manager for manager in managers if manager.operation == "Update"]
    surplus = len(updaters) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managers
    managers = dict(managers)
    updaters.sort(key=lambda manager: (managers[manager].time or "", manager.identifier))
    first_of: dict[str, Manager] = {}
    for manager in updaters:
        if surplus <= 0:
            break
        owned = managers[manager]
        first = first_of.setdefault(owned.api_version, manager)
        if first is manager:
            continue
        bucket = Manager(_ANCIENT, "Update", owned.api_version)
        if bucket not in managers:
            managers[bucket] = managers.pop(first)
        # The time of the later one: it is the more recent.
        joined = union(owned.fields, managers[bucket].fields)
        managers.pop(manager, None)
        managers[bucket] = Owned(joined, owned.api_version, owned.time)
        surplus -= 1
    return managers


def keep_times(live: Object, new: Object) -> None:
    """Put back the times of a write that changed nothing but times, so that it is seen to change nothing.

    To be called last, when the object is as it would be stored.
    """
    before, after = entries_of(live), entries_of(new)
    if not after or len(before) != len(after) or before is after:
        return
    if all(map(_same_but_time, before, after)) and _same_but_managers(live, new):
        new["metadata"]["managedFields"] = before


def _same_but_time(before: Object, after: Object) -> bool:
    return _except(before, "time") == _except(after, "time")


def _same_but_managers(live: Object, new: Object) -> bool:
    return same(_except(live, "metadata"), _except(new, "metadata")) and same(
        _except(live["metadata"], "managedFields"), _except(new["metadata"], "managedFields")
    )


def _except(obj: Object, name: str) -> Object:
    return {key: value for key, value in obj.items() if key != name}
