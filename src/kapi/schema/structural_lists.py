"""List types: elements of a set, and keys of a map, stand once."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import orjson

from kapi.api.fields import FieldError, duplicate, invalid
from kapi.schema.structural import Structural

_NO_KEY = object()


def duplicates(node: Structural | None, value: Any, path: str = "") -> Iterator[FieldError]:
    """Every element that is there a second time, of all lists in a value."""
    if node is None:
        return
    if value.__class__ is dict:
        for key, item in value.items():
            if item.__class__ is dict or item.__class__ is list:
                known = node.properties.get(key)
                if known is not None:
                    yield from duplicates(known, item, f"{path}.{key}" if path else key)
                elif node.additional is not None:
                    yield from duplicates(node.additional, item, f"{path}[{key}]")
    elif value.__class__ is list:
        if node.list_type == "set":
            yield from (duplicate(f"{path}[{i}]", value[i]) for i in _seen_twice(value))
        elif node.list_type == "map":
            yield from _doubled_keys(node.list_keys, value, path)
        if node.items is not None:
            for index, item in enumerate(value):
                if item.__class__ is dict or item.__class__ is list:
                    yield from duplicates(node.items, item, f"{path}[{index}]")


def _doubled_keys(names: tuple[str, ...], items: list[Any], path: str) -> Iterator[FieldError]:
    for index, item in enumerate(items):
        if item is not None and item.__class__ is not dict:
            yield invalid(f"{path}[{index}]", item, "must be an object for an array of list-type map")
            return
    if len(names) == 1:
        name = names[0]
        keys: list[Any] = [_NO_KEY if item is None else item.get(name, _NO_KEY) for item in items]
        for i in _seen_twice(keys):
            yield duplicate(f"{path}[{i}]", {} if keys[i] is _NO_KEY else {name: keys[i]})
        return
    names = tuple(sorted(names))
    keys = [{name: item[name] for name in names if name in item} if item is not None else {} for item in items]
    yield from (duplicate(f"{path}[{i}]", keys[i]) for i in _seen_twice(keys))


def _seen_twice(items: list[Any]) -> Iterator[int]:
    """Where something stands for the second time; a third time is not told."""
    times: dict[Any, int] = {}
    for index, item in enumerate(items):
        compound = item.__class__ is dict or item.__class__ is list
        identity = orjson.dumps(item, option=orjson.OPT_SORT_KEYS) if compound else (item.__class__, item)
        times[identity] = seen = times.get(identity, 0) + 1
        if seen == 2:
            yield index
