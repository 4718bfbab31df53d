"""The admission chain: plugins in one order, all that mutate first, then all that validate.

A plugin says once, as hooks, what it wants to see. The chain works out once per (operation, resource, subresource)
which hooks that are, so a write that no plugin cares about costs one dictionary lookup.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from kapi.api.gvk import GroupResource
from kapi.registry.attributes import Attributes, Operation

# A hook that need not wait returns None, and is not awaited.
Run: TypeAlias = Callable[[Attributes], Awaitable[None] | None]
Phase: TypeAlias = Literal["mutate", "validate"]
Key: TypeAlias = tuple[Operation, str, str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Hook:
    """What a plugin does at one point, and when: None for resources or subresources means all of them."""

    phase: Phase
    run: Run
    operations: frozenset[Operation]
    resources: frozenset[tuple[str, str]] | None = None
    subresources: frozenset[str] | None = None

    def sees(self, key: Key) -> bool:
        operation, group, resource, subresource = key
        return (
            operation in self.operations
            and (self.resources is None or (group, resource) in self.resources)
            and (self.subresources is None or subresource in self.subresources)
        )


class Plugin(Protocol):
    """One admission plugin."""

    name: str

    def hooks(self) -> Iterable[Hook]: ...


def mutating(
    run: Run,
    *operations: Operation,
    of: Iterable[tuple[str, str]] | None = None,
    at: Iterable[str] | None = ("",),
) -> Hook:
    """A hook that may change the object. `at` names subresources; the object itself is ""."""
    return _hook("mutate", run, operations, of, at)


def validating(
    run: Run,
    *operations: Operation,
    of: Iterable[tuple[str, str]] | None = None,
    at: Iterable[str] | None = ("",),
) -> Hook:
    """A hook that may refuse the write, by raising an API error."""
    return _hook("validate", run, operations, of, at)


def _hook(
    phase: Phase,
    run: Run,
    operations: tuple[Operation, ...],
    of: Iterable[tuple[str, str]] | None,
    at: Iterable[str] | None,
) -> Hook:
    return Hook(
        phase=phase,
        run=run,
        operations=frozenset(operations),
        resources=None if of is None else frozenset((group, resource) for group, resource in of),
        subresources=None if at is None else frozenset(at),
    )


class Chain:
    """All enabled plugins, as stores see them."""

    def __init__(self, plugins: Sequence[Plugin]) -> None:
        hooks = [hook for plugin in plugins for hook in plugin.hooks()]
        self._mutating = _Stage([hook for hook in hooks if hook.phase == "mutate"])
        self._validating = _Stage([hook for hook in hooks if hook.phase == "validate"])

    async def mutate(self, attributes: Attributes) -> None:
        await self._mutating.run(attributes)
        reinvocation = attributes.reinvocation
        if reinvocation is not None and reinvocation.wanted:
            # As upstream: once more, so that plugins see what later ones have changed.
            reinvocation.again = True
            await self._mutating.run(attributes)

    async def validate(self, attributes: Attributes) -> None:
        await self._validating.run(attributes)

    def sees(self, phase: Phase, operation: Operation, resource: GroupResource, subresource: str = "") -> bool:
        """Whether any plugin wants to see such a write."""
        stage = self._mutating if phase == "mutate" else self._validating
        return bool(stage.runs((operation, *resource, subresource)))


class _Stage:
    """The hooks of one phase, and which of them see what."""

    def __init__(self, hooks: Sequence[Hook]) -> None:
        self._hooks = hooks
        self._seen: dict[Key, tuple[Run, ...]] = {}

    async def run(self, attributes: Attributes) -> None:
        group, _, resource = attributes.resource
        for run in self.runs((attributes.operation, group, resource, attributes.subresource)):
            waits = run(attributes)
            if waits is not None:
                await waits

    def runs(self, key: Key) -> tuple[Run, ...]:
        found = self._seen.get(key)
        if found is None:
            found = self._seen[key] = tuple(hook.run for hook in self._hooks if hook.sees(key))
        return found
