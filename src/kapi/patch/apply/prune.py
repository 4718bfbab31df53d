"""Taking out of an object what its manager applied before and does not apply any more.

A field goes if the manager had it, has it no longer, and nobody else owns it. What hangs below an owned element without
an owner of its own (defaults, mostly) goes with the element, and stays with it.
"""

from __future__ import annotations

from typing import Any

from kapi.api.objects import Object
from kapi.patch.apply.fieldset import Fields, difference, intersection, union
from kapi.patch.apply.managed import Managers, Owned
from kapi.patch.apply.shape import Shape, shape_of
from kapi.patch.apply.typed import field_set, remove_items, with_named_fields
from kapi.patch.apply.update import Convert
from kapi.patch.errors import InvalidApply, PatchError


class Pruner:
    """One pruning: the shape of the object, and how to see it in the versions that managers wrote in."""

    def __init__(self, shape: Shape, version: str, convert: Convert | None) -> None:
        self._shape = shape
        self._version = version
        self._convert = convert

    def prune(self, merged: Object, managers: Managers, last: Owned | None, now: Fields) -> Object:
        """The merged object without what was owned last and is not now."""
        if last is None or not last.fields or (last.api_version == self._version and self._all_kept(last.fields, now)):
            return merged
        try:
            seen = self._at(merged, last.api_version)
        except PatchError as error:
            what = "failed to prune fields: failed to convert merged object to last applied version"
            raise InvalidApply(f"{what}: {error}") from None
        if seen is None:
            return merged
        merged, shape = seen
        before = with_named_fields(last.fields, shape)
        pruned = remove_items(merged, before, shape)
        pruned = self._give_back(merged, pruned, managers, last.api_version)
        seen = self._at(pruned, last.api_version)
        if seen is None:
            return merged
        gone = difference(_fields(merged, shape), _fields(seen[0], shape))
        rest: Object = remove_items(merged, intersection(gone, before), shape)
        back = self._at(rest, self._version)
        return back[0] if back is not None else rest

    def _all_kept(self, last: Fields, now: Fields) -> bool:
        return not difference(with_named_fields(last, self._shape), with_named_fields(now, self._shape))

    def _at(self, obj: Object, version: str) -> tuple[Object, Shape] | None:
        """An object as a version has it; None when that version is gone."""
        if self._convert is None or obj.get("apiVersion") == version:
            return obj, self._shape
        converted = self._convert(obj, version)
        return (converted[0], shape_of(converted[1])) if converted is not None else None

    def _give_back(self, merged: Object, pruned: Object, managers: Managers, first: str) -> Object:
        """The pruned object with all that somebody owns: others, or this manager's new configuration."""
        owned: dict[str, Fields] = {first: {}}
        for each in managers.values():
            owned[each.api_version] = union(owned.get(each.api_version, {}), each.fields)
        for version, fields in owned.items():
            whole, part = self._at(merged, version), self._at(pruned, version)
            if whole is None or part is None or not fields:
                continue
            merged, shape = whole
            kept = union(_fields(part[0], shape), with_named_fields(fields, shape))
            pruned = remove_items(merged, difference(_fields(merged, shape), kept), shape)
        return pruned


def _fields(obj: Any, shape: Shape) -> Fields:
    return with_named_fields(field_set(obj, shape), shape)
