"""Fields behind feature gates that are off: dropped from what is written, kept where an object has used them before."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

from kapi.api.call import Call
from kapi.api.gated import gated_fields
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy

_Path: TypeAlias = tuple[str, ...]


def without_gated(resource: Resource, features: Mapping[str, bool]) -> Resource:
    """The resource, whose strategies drop what is behind gates that are off."""
    off: dict[str, list[_Path]] = {}
    for gate, path in gated_fields(resource.group, resource.kind):
        if not features.get(gate, True):
            off.setdefault(gate, []).append(tuple(path.split(".")))
    if not off:
        return resource
    paths = list(off.values())
    subresources = {
        name: replace(subresource, strategy=_dropping(subresource.strategy, paths))
        for name, subresource in resource.subresources.items()
    }
    return replace(resource, strategy=_dropping(resource.strategy, paths), subresources=subresources)


def _dropping(strategy: Strategy, gated: Sequence[Sequence[_Path]]) -> Strategy:
    on_create, on_update = strategy.prepare_for_create, strategy.prepare_for_update

    def prepare_for_create(call: Call, new: Object) -> None:
        _drop(gated, new, None)
        if on_create is not None:
            on_create(call, new)

    def prepare_for_update(call: Call, new: Object, old: Object) -> None:
        _drop(gated, new, old)
        if on_update is not None:
            on_update(call, new, old)

    return replace(strategy, prepare_for_create=prepare_for_create, prepare_for_update=prepare_for_update)


def _drop(gated: Sequence[Sequence[_Path]], new: Object, old: Object | None) -> None:
    """Each item of `gated` is the fields of one gate."""
    for paths in gated:
        if old is not None and any(path[-1] in holder for path in paths for holder in _holders(old, path[:-1])):
            continue
        for path in paths:
            for holder in _holders(new, path[:-1]):
                holder.pop(path[-1], None)


def _holders(node: Any, path: _Path) -> Iterator[Object]:
    """What holds the field: everything at the path, whose lists stand for their items."""
    if not isinstance(node, dict):
        return
    if not path:
        yield node
    elif path[0].endswith("[]"):
        for item in node.get(path[0][:-2]) or ():
            yield from _holders(item, path[1:])
    else:
        yield from _holders(node.get(path[0]), path[1:])
