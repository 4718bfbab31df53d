"""What admission is asked about: one write, before it is stored."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, Protocol, TypeAlias

from kapi.api.call import Call
from kapi.api.gvk import GroupVersionKind, GroupVersionResource
from kapi.api.objects import Object
from kapi.registry.options import DeleteOptions, WriteOptions

# As upstream, plugins of admission see nothing of a delete that ignores what is deleted.
Operation: TypeAlias = Literal["CREATE", "UPDATE", "DELETE", "CONNECT", "UNSAFE_DELETE"]


@dataclass(slots=True)
class Reinvocation:
    """Whether mutation shall begin anew after it has ended once, or has begun anew; and what plugins remember."""

    wanted: bool = False
    again: bool = False
    memory: dict[str, Any] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class Attributes:
    """`object` may be changed in place while mutating; `old_object` never."""

    call: Call
    operation: Operation
    resource: GroupVersionResource
    kind: GroupVersionKind
    subresource: str
    namespace: str
    name: str
    object: Object | None
    old_object: Object | None
    options: WriteOptions | DeleteOptions
    reinvocation: Reinvocation | None = None  # made by the first plugin that may want it


class Admission(Protocol):
    """The admission chain, as stores see it. Refusals are raised as API errors."""

    async def mutate(self, attributes: Attributes) -> None: ...

    async def validate(self, attributes: Attributes) -> None: ...


class NoAdmission:
    """Everything is admitted."""

    async def mutate(self, attributes: Attributes) -> None: ...

    async def validate(self, attributes: Attributes) -> None: ...
