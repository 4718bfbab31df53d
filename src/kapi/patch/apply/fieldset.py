"""Sets of fields, and their algebra.

A set is a tree of path elements: `{"f:spec": {"f:replicas": {}, "f:selector": {".": {}, "f:app": {}}}}`. A node without
children stands for the field itself; a node with children stands for the field itself only if it has a "." as well. The
root stands for no field: an empty root is the empty set. Nodes list their elements in canonical order, and are never
mutated: operations return their first argument itself when they change nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

from kapi.patch.apply.elements import canonical, describe, in_order

Fields: TypeAlias = dict[str, Any]
Filter: TypeAlias = Callable[[Fields], Fields]

LEAF: Fields = {}
_SELF = "."


def is_member(node: Fields) -> bool:
    return not node or _SELF in node


def as_member(node: Fields) -> Fields:
    """The same node, standing for the field itself as well."""
    return node if is_member(node) else {_SELF: LEAF, **node}


def ordered(node: Fields) -> Fields:
    """The same node with its elements in canonical order."""
    return {key: node[key] for key in in_order(node)} if len(node) > 1 else node


def from_paths(*paths: str) -> Fields:
    """A set of members of objects: `from_paths("status", "metadata.labels")`."""
    found: Fields = {}
    for path in paths:
        tree = LEAF
        for name in reversed(path.split(".")):
            tree = {f"f:{name}": tree}
        found = union(found, tree)
    return found


def parse(fields: Any) -> Fields:
    """The set that a client wrote, in canonical form; ValueError when it is none."""
    return within({"": _parsed(fields)}, "")


def _parsed(node: Any) -> Fields:
    if node is None:
        return LEAF
    if not isinstance(node, dict):
        raise ValueError(f"expected an object, got {node!r}")
    out: Fields = {}
    for key, child in node.items():
        if key == _SELF:
            out[_SELF] = LEAF
        elif (element := canonical(key)) is not None:
            out[element] = _parsed(child)
    return LEAF if len(out) == 1 and _SELF in out else ordered(out)


def union(left: Fields, right: Fields) -> Fields:
    if not right:
        return left
    return _union(left, right) if left else right


def _union(left: Fields, right: Fields) -> Fields:
    if left is right:
        return left
    if not left:
        return left if not right else as_member(right)
    if not right:
        return as_member(left)
    out: Fields | None = None
    new = False
    for key, theirs in right.items():
        ours = left.get(key)
        both = theirs if ours is None else _union(ours, theirs)
        if both is not ours:
            if out is None:
                out = dict(left)
            out[key] = both
            new = new or ours is None
    if out is None:
        return left
    return ordered(out) if new else out


def difference(left: Fields, right: Fields) -> Fields:
    """The fields of the left that are not in the right. A field's children stay when only the field itself is."""
    if not left or not right:
        return left
    return _kept(left, right, deep=False) or LEAF


def without(left: Fields, right: Fields) -> Fields:
    """The fields of the left that are neither in the right nor below a field of it (upstream: recursive difference)."""
    if not left or not right:
        return left
    return _kept(left, right, deep=True) or LEAF


def after_change(owned: Fields, changed: Fields) -> Fields:
    """What stays with its owner when these fields changed.

    A changed field without children is a leaf of the object. Whoever owns something below it did so under an older
    schema, when it was not atomic: that goes as well.
    """
    if not owned or not changed:
        return owned
    return _kept(owned, changed, deep=False, leaves_take_all=True) or LEAF


def _kept(left: Fields, right: Fields, *, deep: bool, leaves_take_all: bool = False) -> Fields | None:
    """What the right leaves of a node; None for nothing."""
    if not left:
        return None if is_member(right) else left
    if not right:
        if deep or leaves_take_all:
            return None
        return {key: node for key, node in left.items() if key != _SELF} if _SELF in left else left
    if deep and _SELF in right:
        return None
    out: Fields | None = None
    for key, theirs in right.items():
        ours = left.get(key)
        if ours is None:
            continue
        rest = None if key == _SELF else _kept(ours, theirs, deep=deep, leaves_take_all=leaves_take_all)
        if rest is not ours:
            if out is None:
                out = dict(left)
            if rest is None:
                del out[key]
            else:
                out[key] = rest
    if out is None:
        return left
    if not out:
        return None
    return LEAF if len(out) == 1 and _SELF in out else out


def intersection(left: Fields, right: Fields) -> Fields:
    if not left or not right:
        return LEAF
    return _common(left, right) or LEAF


def _common(left: Fields, right: Fields) -> Fields | None:
    out: Fields = {}
    for key, ours in left.items():
        theirs = right.get(key)
        if theirs is not None and key != _SELF:
            both = _common(ours, theirs)
            if both is not None:
                out[key] = both
    if is_member(left) and is_member(right):
        return {_SELF: LEAF, **out} if out else LEAF
    return out or None


def has(fields: Fields, path: tuple[str, ...]) -> bool:
    """Whether the field at this path is in the set."""
    for element in path:
        node = fields.get(element)
        if node is None:
            return False
        fields = node
    return bool(path) and is_member(fields)


def within(fields: Fields, element: str) -> Fields:
    """The fields below an element, as a set of their own."""
    node: Fields = fields.get(element, LEAF)
    return {key: child for key, child in node.items() if key != _SELF} if _SELF in node else node


def paths(fields: Fields) -> Iterator[tuple[str, ...]]:
    """Every field, those of a level before those below it."""
    yield from _paths(fields, ())


def _paths(node: Fields, prefix: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for key, child in node.items():
        if key != _SELF and is_member(child):
            yield (*prefix, key)
    for key, child in node.items():
        if child:
            yield from _paths(child, (*prefix, key))


def path_text(path: tuple[str, ...]) -> str:
    """As messages print a path: `.spec.containers[name="x"].image`."""
    return "".join(map(describe, path))


def excluding(*names: str) -> Filter:
    """A filter that leaves out these fields and all below: what an endpoint resets ("status", "metadata.labels")."""
    excluded = from_paths(*names)
    return lambda fields: without(fields, excluded)


def including(*patterns: tuple[str, ...]) -> Filter:
    """A filter that keeps only what is at or below a pattern of path elements, in which "*" matches any element."""
    return lambda fields: _matching(fields, list(patterns)) or LEAF


def _matching(node: Fields, patterns: list[tuple[str, ...]]) -> Fields | None:
    out: Fields = {}
    for key, child in node.items():
        if key == _SELF:
            continue
        rest = [pattern[1:] for pattern in patterns if pattern[0] in (key, "*")]
        if any(not pattern for pattern in rest):
            out[key] = child
        elif rest:
            kept = _matching(child, rest)
            if is_member(child):
                out[key] = as_member(kept or LEAF)
            elif kept is not None:
                out[key] = kept
    return out or None
