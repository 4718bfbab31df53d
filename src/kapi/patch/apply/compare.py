"""What changed between two objects: the fields set or changed, and the fields that are gone.

The hot path of every write. Parts that are equal are skipped whole; only what differs is walked.
"""

from __future__ import annotations

from collections.abc import Callable, Set
from typing import Any, NamedTuple, TypeAlias

from kapi.api.objects import Object
from kapi.patch.apply.fieldset import LEAF, Fields, as_member, ordered
from kapi.patch.apply.shape import ANY, Shape, equality

Equal: TypeAlias = Callable[[Any, Any], bool]

# Fields of every object that no manager ever owns, as upstream strips them.
_NONE: Set[str] = frozenset()
_UNOWNED = frozenset(("apiVersion", "kind", "metadata"))
_UNOWNED_METADATA = frozenset(
    (
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "clusterName",
        "generation",
        "managedFields",
        "resourceVersion",
    )
)


class Changes(NamedTuple):
    changed: Fields  # added or modified
    removed: Fields


class Difference(NamedTuple):
    """Of one value: the nodes for what changed and what is gone, None for nothing."""

    changed: Fields | None
    removed: Fields | None


_SAME = Difference(None, None)
_REPLACED = Difference(LEAF, None)


def changes(old: Object, new: Object, shape: Shape) -> Changes:
    """Between two whole objects, without the fields that nobody owns. ElementError when items of a list lack a key."""
    equal = equality(shape)
    changed, removed = _members(old, new, shape, equal, _UNOWNED)
    before, after = old.get("metadata") or {}, new.get("metadata") or {}
    metadata = _members(before, after, shape.member("metadata") or ANY, equal, _UNOWNED_METADATA)
    if metadata.changed is not None:
        changed = ordered({**(changed or LEAF), "f:metadata": metadata.changed})
    if metadata.removed is not None:
        removed = ordered({**(removed or LEAF), "f:metadata": metadata.removed})
    return Changes(changed or LEAF, removed or LEAF)


def strip(fields: Fields) -> Fields:
    """A set without the fields that nobody owns."""
    out = {key: node for key, node in fields.items() if key not in ("f:apiVersion", "f:kind")}
    metadata = out.pop("f:metadata", None)
    if metadata:
        kept = {key: node for key, node in metadata.items() if key[2:] not in _UNOWNED_METADATA and key != "."}
        if kept:
            out = ordered({**out, "f:metadata": kept})
    return out


def all_fields(value: Any, shape: Shape) -> Fields:
    """The node for a value that is new, or gone, as a whole: itself and everything in it."""
    if shape.leaf or not value:
        return LEAF
    if shape.kind == "list":
        return _all_elements(value, shape)
    if not isinstance(value, dict):
        return LEAF
    out: Fields = {".": LEAF}
    members = shape.members
    others = shape.others
    if others is not None and others.leaf and not shape.type.fields:
        for name in sorted(value):
            out["f:" + name] = LEAF
        return out
    for name in sorted(value):
        child = members.get(name) or members.resolve(name) or others
        inner = value[name]
        out["f:" + name] = LEAF if child is None or child.leaf or not inner else all_fields(inner, child)
    return out


def _all_elements(items: Any, shape: Shape) -> Fields:
    if not isinstance(items, list):
        return LEAF
    out: Fields = {".": LEAF}
    for element, same_key in shape.whole_index(items).items():
        # Duplicates are owned as one.
        out[element] = as_member(all_fields(same_key[0], shape.element)) if len(same_key) == 1 else LEAF
    return ordered(out)


def compare(old: Any, new: Any, shape: Shape, equal: Equal) -> Difference:
    """Between two values that are both there."""
    if shape.leaf or (not old and not new):
        return _SAME if equal(old, new) else _REPLACED
    if shape.kind == "list":
        return _elements(old, new, shape, equal)
    if (old is None or isinstance(old, dict)) and (new is None or isinstance(new, dict)):
        return _members(old or {}, new or {}, shape, equal)
    return _retyped(old, new, shape, equal)


def _retyped(old: Any, new: Any, shape: Shape, equal: Equal) -> Difference:
    """Untyped values of which one at most is an object."""
    if equal(old, new):
        return _SAME
    changed = all_fields(new, shape) if isinstance(new, dict) else LEAF
    removed = _below(all_fields(old, shape)) if isinstance(old, dict) else None
    return Difference(changed, removed)


def _below(node: Fields) -> Fields | None:
    return {key: child for key, child in node.items() if key != "."} or None


def _members(old: Object, new: Object, shape: Shape, equal: Equal, unowned: Set[str] = _NONE) -> Difference:
    changed: Fields = {}
    removed: Fields = {}
    members, others = shape.members, shape.others
    for name, value in new.items():
        if name in unowned:
            continue
        if name in old:
            before = old[name]
            if value is before or equal(before, value):
                continue
            child = members.get(name) or members.resolve(name) or others or ANY
            inner = compare(before, value, child, equal)
            if inner.changed is not None:
                changed["f:" + name] = inner.changed
            if inner.removed is not None:
                removed["f:" + name] = inner.removed
        else:
            changed["f:" + name] = all_fields(value, shape.member(name) or ANY)
    for name, value in old.items():
        if name not in new and name not in unowned:
            removed["f:" + name] = all_fields(value, shape.member(name) or ANY)
    return Difference(ordered(changed) or None, ordered(removed) or None)


def _elements(old: Any, new: Any, shape: Shape, equal: Equal) -> Difference:
    changed: Fields = {}
    removed: Fields = {}
    before, after = shape.whole_index(old), shape.whole_index(new)
    for element in {**before, **after}:
        found = _element(before.get(element, []), after.get(element, []), shape.element, equal)
        if found.changed is not None:
            changed[element] = found.changed
        if found.removed is not None:
            removed[element] = found.removed
    return Difference(ordered(changed) or None, ordered(removed) or None)


def _element(old: list[Any], new: list[Any], shape: Shape, equal: Equal) -> Difference:
    """Between the items with one key. Duplicates are one value: which of them is which cannot be told."""
    if len(old) == 1 and len(new) == 1:
        return compare(old[0], new[0], shape, equal)
    if len(old) > 1 and len(new) > 1:
        return _SAME if equal(old, new) else _REPLACED
    gone = all_fields(old[0], shape) if len(old) == 1 else LEAF if old else None
    come = all_fields(new[0], shape) if len(new) == 1 else LEAF if new else None
    return Difference(
        as_member(come) if come is not None else None,
        as_member(gone) if gone is not None else None,
    )
