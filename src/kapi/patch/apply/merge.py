"""Merging an applied configuration into an object: its leaves win, its lists' order is kept, nothing is removed."""

from __future__ import annotations

from typing import Any

from kapi.api.objects import Object
from kapi.patch.apply.shape import ANY, Shape


def merge(old: Any, new: Any, shape: Shape) -> Any:
    """The value with the configuration's laid over it; both are there."""
    if shape.leaf or (not old and not new):
        return new
    if shape.kind == "list":
        return _merge_lists(old or [], new or [], shape)
    if (old is None or isinstance(old, dict)) and (new is None or isinstance(new, dict)):
        # Null over an object is an empty object: it takes nothing away.
        return _merge_members(old or {}, new or {}, shape)
    return new


def _merge_members(old: Object, new: Object, shape: Shape) -> Object:
    out = dict(old)
    for name, value in new.items():
        out[name] = merge(old[name], value, shape.member(name) or ANY) if name in old else value
    return out


def _merge_lists(old: list[Any], new: list[Any], shape: Shape) -> list[Any]:
    """Elements of the configuration in its order; others where they stood between those that both have."""
    ours = [shape.find_element(item) for item in old]
    theirs = [shape.element_of(item) for item in new]
    before = {element: items[0] for element, items in shape.index(old).items() if len(items) == 1}
    after = dict(zip(theirs, new, strict=True))
    known = set(ours)
    shared = [element for element in theirs if element in known]
    taken: set[str] = set()
    out: list[Any] = []

    def take(element: str) -> None:
        taken.add(element)
        item = after[element]
        # Of duplicates none can be told to be the one that is configured: the configuration's replaces them.
        out.append(merge(before[element], item, shape.element) if element in before else item)
        if shared and shared[0] == element:
            shared.pop(0)

    left = right = 0
    while left < len(old) or right < len(new):
        element = ours[left] if left < len(old) else None
        if element is not None and right < len(new):
            if element == theirs[right]:
                take(element)
                left, right = left + 1, right + 1
                continue
            if element in after and shared and shared[0] != element:
                left += 1
                continue
        if left < len(old):
            if element not in after:
                out.append(old[left])
                left += 1
                continue
            if element in taken:
                left += 1
        if right < len(new):
            take(theirs[right])
            right += 1
    return out
