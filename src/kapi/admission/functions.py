"""Admission as plain Python functions, in this process: no server, no TLS, no certificate.

    from kapi.admission.functions import Attributes, Deny, Patch, admission

    @admission("CREATE", "UPDATE", resources=["configmaps"])
    def needs_an_owner(attributes: Attributes) -> Deny | None:
        if "owner" not in attributes.object["metadata"].get("labels", {}):
            return Deny("every ConfigMap needs the label owner")
        return None

    @admission("CREATE", resources=["deployments.apps"])
    def starts_small(attributes: Attributes) -> Patch:
        return Patch.merge({"spec": {"replicas": 1}})

What can return a Patch runs with those who change objects, before policies and webhooks; what can only Deny runs with
those who judge the result. `attributes` must not be changed: a Patch says what shall be.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from kapi.admission.chain import Hook, Phase
from kapi.admission.change import change
from kapi.admission.matching import Match
from kapi.admission.services import Services
from kapi.api.errors import APIError, InternalError
from kapi.patch import json_patch, merge_patch
from kapi.patch.errors import PatchError
from kapi.registry.attributes import Attributes, Operation

__all__ = ["Attributes", "Deny", "Patch", "admission"]

_OPERATIONS: tuple[Operation, ...] = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_RULE = "__kapi_admission__"


@dataclass(frozen=True, slots=True)
class Deny:
    """The request is refused."""

    message: str
    code: int = 403
    reason: str = "Forbidden"


@dataclass(frozen=True, slots=True)
class Patch:
    """The object is changed by a JSON patch, or by a merge patch: `Patch.merge({...})`."""

    operations: list[dict[str, Any]] = field(default_factory=list)
    merged: Mapping[str, Any] | None = None

    @classmethod
    def merge(cls, patch: Mapping[str, Any]) -> Patch:
        return cls(merged=patch)

    def apply(self, shown: Any) -> Any:
        return (
            json_patch.apply(shown, self.operations) if self.merged is None else merge_patch.apply(shown, self.merged)
        )


Result: TypeAlias = Deny | Patch | None
Function: TypeAlias = Callable[[Attributes], Result | Awaitable[Result]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Rule:
    operations: frozenset[Operation]
    resources: frozenset[tuple[str, str]] | None
    subresources: frozenset[str] | None


def admission(
    *operations: Operation, resources: Iterable[str] | None = None, subresources: Iterable[str] | None = ("",)
) -> Callable[[Function], Function]:
    """What a function is about: all operations and resources unless it says so. `deployments.apps` has its group."""
    unknown = [operation for operation in operations if operation not in _OPERATIONS]
    if unknown:
        raise ValueError(f"admission knows the operations {', '.join(_OPERATIONS)}, not {', '.join(unknown)}")
    rule = _Rule(
        operations=frozenset(operations or _OPERATIONS),
        resources=None if resources is None else frozenset(_group_and_plural(text) for text in resources),
        subresources=None if subresources is None else frozenset(subresources),
    )

    def mark(function: Function) -> Function:
        setattr(function, _RULE, rule)
        return function

    return mark


def _group_and_plural(text: str) -> tuple[str, str]:
    plural, _, group = text.partition(".")
    return group, plural


def marked(module: object) -> list[Function]:
    """The functions of a module that `admission` marks, in the order in which they are defined."""
    return [value for value in vars(module).values() if hasattr(value, _RULE)]


class Refused(APIError):
    """What a function denies, in its words."""

    def __init__(self, name: str, deny: Deny) -> None:
        super().__init__(f'admission function "{name}" denied the request: {deny.message}')
        self.code, self.reason = deny.code, deny.reason


class FunctionPlugin:
    """One function as a plugin of the chain."""

    def __init__(self, function: Function, services: Services) -> None:
        self.name = f"{function.__module__}.{getattr(function, '__qualname__', type(function).__name__)}"
        self._function = function
        self._versions = services.versions

    def hooks(self) -> tuple[Hook, ...]:
        rule: _Rule = getattr(self._function, _RULE, None) or _Rule(
            operations=frozenset(_OPERATIONS), resources=None, subresources=frozenset({""})
        )
        return (
            Hook(
                phase=_phase(self._function),
                run=self.run,
                operations=rule.operations,
                resources=rule.resources,
                subresources=rule.subresources,
            ),
        )

    def run(self, attributes: Attributes) -> Awaitable[None] | None:
        result = self._function(attributes)
        if inspect.isawaitable(result):
            return self._finish(attributes, result)
        return self._obey(attributes, result)

    async def _finish(self, attributes: Attributes, result: Awaitable[Result]) -> None:
        waits = self._obey(attributes, await result)
        if waits is not None:
            await waits

    def _obey(self, attributes: Attributes, result: Result) -> Awaitable[None] | None:
        if result is None:
            return None
        if isinstance(result, Deny):
            raise Refused(self.name, result)
        if not isinstance(result, Patch):
            raise InternalError(f"admission function {self.name} returned {result!r}, not None, a Patch or a Deny")
        if attributes.object is None:
            raise InternalError(f"admission function {self.name} returned a Patch, but there is no object to change")
        return self._change(attributes, result)

    async def _change(self, attributes: Attributes, patch: Patch) -> None:
        try:
            await change(attributes, Match(attributes.resource, attributes.kind), self._versions, patch.apply)
        except PatchError as error:
            raise InternalError(f"the patch of admission function {self.name} does not apply: {error}") from None


def _phase(function: Function) -> Phase:
    """By what it says that it returns."""
    said = str(inspect.signature(function).return_annotation)
    return "validate" if "Deny" in said and "Patch" not in said else "mutate"
