"""ValidatingAdmissionPolicy: policies refuse writes, warn of them, or note them for the audit."""

from __future__ import annotations

from collections.abc import Awaitable
from functools import partial
from time import perf_counter
from typing import TYPE_CHECKING

import orjson

from kapi.admission.chain import Hook, validating
from kapi.admission.policy.meeting import EXEMPT, Bound, Meeting
from kapi.admission.policy.metrics import CheckMetrics, error_type
from kapi.admission.policy.params import Misconfigured
from kapi.admission.policy.source import Binding, Policy, Source
from kapi.admission.refusal import forbidden
from kapi.admission.resources import VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS
from kapi.admission.services import Services
from kapi.api.errors import APIError
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

if TYPE_CHECKING:
    from kapi.admission.policy.validator import Decision, Validator, Verdict

_FAILURES = "validation.policy.admission.k8s.io/validation_failure"
_MOST_FAILURES = 50
_CODES = {"Forbidden": 403, "Unauthorized": 401, "RequestEntityTooLarge": 413}


def _compile(policy: Object) -> Validator:
    from kapi.admission.policy.validator import Validator  # CEL loads slowly, and most servers have no policy

    return Validator(policy)


class ValidatingAdmissionPolicy:
    name = "ValidatingAdmissionPolicy"

    def __init__(self, services: Services) -> None:
        self._services = services
        resources = (VALIDATING_POLICIES, VALIDATING_POLICY_BINDINGS)
        self._source: Source[Validator] = Source(services.lookup, resources, services.versions.equivalents, _compile)
        self._metrics = CheckMetrics(services.metrics, "validating", "enforcement_action")

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", "UPDATE", "DELETE", "CONNECT", at=None),)

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        if self._source.idle or attributes.resource.group_resource in EXEMPT:
            return None
        return self._validate(attributes)

    async def _validate(self, attributes: Attributes) -> None:
        policies = await self._source.policies()
        if not policies:
            return
        meeting, judgement = Meeting(attributes, self._services), _Judgement(attributes, self._metrics)
        for bound in await meeting.bound(policies, judgement.misconfigured):
            try:
                judgement.add(bound, *await self._judged(meeting, bound))
            except Misconfigured as error:
                why = f"failed to configure binding: failed to convert object version: {error}"
                judgement.misconfigured(bound.policy, bound.binding, why)
        judgement.conclude()

    @staticmethod
    async def _judged(meeting: Meeting, bound: Bound) -> tuple[Verdict, float]:
        validator: Validator = bound.policy.evaluator
        seen = await meeting.seen(bound)
        began = perf_counter()
        evaluate = partial(validator.validate, seen, meeting.authorizer)
        verdict = await meeting.questions.settle(evaluate)
        return verdict, perf_counter() - began


class Denied(APIError):
    """As a Forbidden, but for the reason and the code that the policy gives."""

    def __init__(self, attributes: Attributes, message: str, reason: str) -> None:
        said = forbidden(attributes, message)
        super().__init__(said.message, details={**(said.details or {}), "causes": [{"message": message}]})
        self.reason, self.code = reason, _CODES.get(reason, 422)


class _Judgement:
    """What all policies together say to one request: the first to deny it is the one that is told."""

    def __init__(self, attributes: Attributes, metrics: CheckMetrics) -> None:
        self._attributes = attributes
        self._metrics = metrics
        self._denied: tuple[str, str] | None = None  # the message and the reason
        self._failures: list[Object] = []
        self._annotations: dict[str, list[str]] = {}

    def misconfigured(self, policy: Policy[Validator], binding: Binding | None, why: str) -> None:
        if not policy.ignores_failures:
            self._deny(policy, binding, why, "Invalid")

    def _deny(self, policy: Policy[Validator], binding: Binding | None, message: str, reason: str) -> None:
        by = f"ValidatingAdmissionPolicy '{policy.name}'" + (f" with binding '{binding.name}'" if binding else "")
        self._denied = self._denied or (f"{by} denied request: {message}", reason)

    def add(self, bound: Bound, verdict: Verdict, seconds: float) -> None:
        policy, binding = bound.policy, bound.binding
        each = seconds / max(1, len(verdict.decisions))
        for i, decision in enumerate(verdict.decisions):
            if decision.denies:
                self._enforce(bound, i, decision, each)
            elif decision.is_error:
                self._metrics.observe(each, policy.name, binding.name, error_type(decision.message), "allow")
        for key, value in verdict.annotations:
            values = self._annotations.setdefault(f"{policy.name}/{key}", [])
            if value not in values:
                values.append(value)
        for decision in verdict.annotation_errors:
            self._deny(policy, binding, decision.message, "Invalid")
            self._metrics.observe(each, policy.name, binding.name, error_type(decision.message), "deny")

    def _enforce(self, bound: Bound, index: int, decision: Decision, seconds: float) -> None:
        policy, binding, message = bound.policy, bound.binding, decision.message
        for action in binding.actions:
            if action == "Deny":
                self._deny(policy, binding, message, decision.reason or "Invalid")
            elif action == "Warn":
                by = f"ValidatingAdmissionPolicy '{policy.name}' with binding '{binding.name}'"
                self._attributes.call.warn(f"Validation failed for {by}: {message}")
            elif action == "Audit":
                self._failures.append(
                    {
                        "message": message,
                        "policy": policy.name,
                        "binding": binding.name,
                        "expressionIndex": index,
                        "validationActions": binding.actions,
                    }
                )
            self._metrics.observe(seconds, policy.name, binding.name, error_type(message), action.lower())

    def conclude(self) -> None:
        """Raises Denied."""
        annotations = self._attributes.call.annotations
        for key, values in self._annotations.items():
            annotations[key] = ", ".join(values)
        if self._failures:
            annotations[_FAILURES] = orjson.dumps(self._failures[:_MOST_FAILURES]).decode()
        if self._denied is not None:
            raise Denied(self._attributes, *self._denied)


def build(services: Services, _: Object | None) -> ValidatingAdmissionPolicy:
    return ValidatingAdmissionPolicy(services)
