"""The admission chain: plugins in one order, mutating first, then validating."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kapi.registry.attributes import Attributes, Operation


class Plugin(Protocol):
    """One admission plugin. `operations` are those it wants to see; what it does not do is None."""

    name: str
    operations: frozenset[Operation]

    async def mutate(self, attributes: Attributes) -> None: ...

    async def validate(self, attributes: Attributes) -> None: ...


class Chain:
    """All enabled plugins, as stores see them."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        self._plugins = tuple(plugins)

    async def mutate(self, attributes: Attributes) -> None:
        for plugin in self._plugins:
            if attributes.operation in plugin.operations:
                await plugin.mutate(attributes)

    async def validate(self, attributes: Attributes) -> None:
        for plugin in self._plugins:
            if attributes.operation in plugin.operations:
                await plugin.validate(attributes)
