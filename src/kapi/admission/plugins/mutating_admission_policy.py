"""MutatingAdmissionPolicy: policies change what is written."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass, field
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING, Any, TypeAlias

import orjson

from kapi.admission.chain import Hook, mutating
from kapi.admission.policy.meeting import EXEMPT, Bound, Meeting
from kapi.admission.policy.metrics import CheckMetrics, error_type
from kapi.admission.policy.params import Misconfigured
from kapi.admission.policy.source import Binding, Policy, Source
from kapi.admission.refusal import forbidden
from kapi.admission.resources import MUTATING_POLICIES, MUTATING_POLICY_BINDINGS
from kapi.admission.services import Services
from kapi.admission.versions import NotConverted
from kapi.api.errors import APIError, InternalError, ServiceUnavailable
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes, Reinvocation
from kapi.registry.resource import Resource
from kapi.schema.loader import UnknownType, type_of
from kapi.schema.types import Type

if TYPE_CHECKING:
    from kapi.admission.policy.mutator import Mutator

_Key: TypeAlias = tuple[str, str, str, str]  # policy, binding, and the parameter's namespace and name


def _compile(policy: Object) -> Mutator:
    from kapi.admission.policy.mutator import Mutator  # CEL loads slowly, and most servers have no policy

    return Mutator(policy)


@dataclass(slots=True)
class _Memory:
    """Which invocations a second round repeats: those that allow it and were followed by a change."""

    output: Object | None = None
    invoked: set[_Key] = field(default_factory=set)
    repeated: set[_Key] = field(default_factory=set)

    def repeat(self) -> None:
        self.repeated |= self.invoked
        self.invoked = set()


class MutatingAdmissionPolicy:
    name = "MutatingAdmissionPolicy"

    def __init__(self, services: Services) -> None:
        self._services = services
        resources = (MUTATING_POLICIES, MUTATING_POLICY_BINDINGS)
        self._source: Source[Mutator] = Source(services.lookup, resources, services.versions.equivalents, _compile)
        self._metrics = CheckMetrics(services.metrics, "mutating")

    def hooks(self) -> tuple[Hook, ...]:
        # What is deleted has no object to change.
        return (mutating(self.mutate, "CREATE", "UPDATE", "CONNECT", at=None),)

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        if self._source.idle or attributes.resource.group_resource in EXEMPT:
            return None
        return self._mutate(attributes)

    async def _mutate(self, attributes: Attributes) -> None:
        policies = await self._source.policies()
        if not policies:
            return
        meeting, complaints = Meeting(attributes, self._services), _Complaints(attributes)
        # All that match the request as it came are invoked, whatever earlier ones make of it.
        invocations = await meeting.bound(policies, complaints.misconfigured)
        if invocations:
            await _Round(meeting, self._services, self._metrics, complaints).run(invocations)
        complaints.conclude()


class _Complaints:
    """What went wrong and may not be ignored, in order."""

    def __init__(self, attributes: Attributes) -> None:
        self._attributes = attributes
        self._found: list[tuple[str, str]] = []  # messages with their reasons

    def misconfigured(self, policy: Policy[Mutator], binding: Binding | None, why: str) -> None:
        self.add(policy, binding, why, "")

    def add(self, policy: Policy[Mutator], binding: Binding | None, why: str, reason: str) -> None:
        if policy.ignores_failures:
            return
        by = f"policy '{policy.name}' with binding '{binding.name}'" if binding else f'policy "{policy.name}"'
        self._found.append((f"{by} denied request: {why}", reason))

    def conclude(self) -> None:
        if not self._found:
            return
        error = forbidden(self._attributes, "admission request denied by policy")
        message, reason = self._found[0]
        error.message, error.args = message, (message,)
        if reason:
            error.reason = reason
        causes = [{"message": message} for message, _ in self._found]
        error.details = {**(error.details or {}), "causes": causes}
        raise error


class _Round:
    """One time that mutations run for a request."""

    def __init__(self, meeting: Meeting, services: Services, metrics: CheckMetrics, complaints: _Complaints) -> None:
        attributes = meeting.attributes
        self._meeting = meeting
        self._attributes = attributes
        self._versions = services.versions
        self._metrics = metrics
        self._complaints = complaints
        self._again = attributes.reinvocation = attributes.reinvocation or Reinvocation()
        self._memory: _Memory = self._again.memory.setdefault(MutatingAdmissionPolicy.name, _Memory())

    async def run(self, invocations: list[Bound]) -> None:
        if self._again.again and self._memory.output != self._attributes.object:
            self._memory.repeat()
        changed = False
        for bound in invocations:
            try:
                changed = await self._invoke(bound) or changed
            except Misconfigured as error:
                self._complaints.misconfigured(bound.policy, None, f"failed to configure policy: {error}")
        if changed:
            self._memory.repeat()
            self._again.wanted = True
        self._memory.output = orjson.loads(orjson.dumps(self._attributes.object))

    async def _invoke(self, bound: Bound) -> bool:
        """Whether the object was changed."""
        from kapi.admission.match_conditions import ConditionsFailed

        policy, binding = bound.policy, bound.binding
        mutator: Mutator = policy.evaluator
        seen = {**await self._meeting.seen(bound), **self._meeting.authorizer}
        try:
            if not await self._meeting.questions.settle(partial(mutator.matches, seen)):
                return False
        except ConditionsFailed as error:
            self._complaints.add(policy, binding, str(error), "Invalid")
            return False
        key = _key(bound)
        if self._again.again and key not in self._memory.repeated:
            return False
        changed = seen["object"] is not None and await self._mutations(mutator, bound, seen)
        if changed:
            self._memory.repeat()
        if policy.spec.get("reinvocationPolicy") == "IfNeeded":
            self._memory.invoked.add(key)
        return changed

    async def _mutations(self, mutator: Mutator, bound: Bound, seen: dict[str, Any]) -> bool:
        from kapi.admission.policy.mutator import MutationFailed

        policy, binding = bound.policy.name, bound.binding.name
        before = seen["object"]
        for index in range(len(mutator.mutations)):
            began = perf_counter()
            try:
                resource, type_ = self._type(bound)
                mutate = partial(mutator.mutated, index, seen, resource, type_)
                seen["object"] = await self._meeting.questions.settle(mutate)
            except MutationFailed as error:
                self._metrics.observe(perf_counter() - began, policy, binding, error_type(str(error)))
                self._complaints.add(bound.policy, bound.binding, str(error), "Invalid")
            except APIError as error:
                self._metrics.observe(perf_counter() - began, policy, binding, error_type(error.message))
                raise
            else:
                self._metrics.observe(perf_counter() - began, policy, binding, "no_error")
        if seen["object"] == before:
            return False
        try:
            new = await self._versions.taken(self._attributes, seen["object"])
        except NotConverted as error:
            raise InternalError(f"failed to convert object: {error}") from None
        held = self._attributes.object
        assert held is not None, "what has no object is not mutated"
        held.clear()
        held.update(new)
        return True

    def _type(self, bound: Bound) -> tuple[Resource, Type]:
        kind = bound.match.kind
        resource = self._versions.at(bound.match.resource)
        try:
            if resource is not None:
                return resource, resource.schema if kind == resource.gvk else type_of(*kind)
        except UnknownType:
            pass
        shown = f"{kind.group}/{kind.version}, Kind={kind.kind}"
        why = "There can be a delay between when CustomResourceDefinitions are created and when they are available."
        raise ServiceUnavailable(f"Resource kind {shown} not found. {why}")


def _key(bound: Bound) -> _Key:
    metadata = (bound.param or {}).get("metadata") or {}
    return bound.policy.name, bound.binding.name, metadata.get("namespace", ""), metadata.get("name", "")


def build(services: Services, _: Object | None) -> MutatingAdmissionPolicy:
    return MutatingAdmissionPolicy(services)
