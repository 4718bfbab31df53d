"""Resources inside custom resources: where they are in a value."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapi.api.objects import Object
from kapi.schema.structural import Structural


def embedded(
    node: Structural | None, value: Any, path: str = "", *, is_resource: bool = False
) -> Iterator[tuple[str, Object]]:
    """All embedded resources and their paths, outer ones first; the value itself too if it is one."""
    if node is None:
        return
    if value.__class__ is dict:
        if node.embedded or is_resource:
            yield path, value
        for key, item in value.items():
            if item.__class__ is dict or item.__class__ is list:
                known = node.properties.get(key)
                if known is not None:
                    yield from embedded(known, item, f"{path}.{key}" if path else key)
                elif node.additional is not None:
                    yield from embedded(node.additional, item, f"{path}[{key}]")
    elif value.__class__ is list:
        for index, item in enumerate(value):
            yield from embedded(node.items, item, f"{path}[{index}]")
