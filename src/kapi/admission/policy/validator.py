"""The expressions of a validating policy, and what they decide. As upstream's policy/validating/validator.go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from kapi.admission.evaluation import Evaluation, Expression, OutOfBudget, Result, Scope
from kapi.admission.match_conditions import ConditionsFailed, MatchConditions
from kapi.admission.patience import Patience
from kapi.api.objects import Object
from kapi.cel.limits import MAX_MESSAGE_SIZE, RUNTIME_BUDGET
from kapi.cel.types import BOOL, NULL, STRING

_LONGEST_VALUE = 10 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What one validation came to: it admits, denies with a message, or failed (`is_error`)."""

    denies: bool
    message: str = ""
    reason: str = ""
    is_error: bool = False


@dataclass(slots=True)
class Verdict:
    decisions: list[Decision] = field(default_factory=list)
    annotations: list[tuple[str, str]] = field(default_factory=list)
    annotation_errors: list[Decision] = field(default_factory=list)


class Validator:
    """A compiled policy. It changes nothing, so an evaluation may be repeated."""

    def __init__(self, policy: Object) -> None:
        spec = policy["spec"]
        params = spec.get("paramKind") is not None
        scope = Scope(spec.get("variables") or (), params=params)
        self._validations: Sequence[Object] = spec.get("validations") or ()
        self._annotations: Sequence[Object] = spec.get("auditAnnotations") or ()
        self._denies_errors = spec.get("failurePolicy") != "Ignore"
        self._variables: Mapping[str, Expression] = scope.variables
        conditions = spec.get("matchConditions") or ()
        self._conditions = MatchConditions(conditions, ignore_errors=not self._denies_errors, params=params)
        self._expressions = [scope.compile(v.get("expression", ""), BOOL) for v in self._validations]
        self._messages = [
            scope.compile(v["messageExpression"], STRING, authorize=False) if v.get("messageExpression") else None
            for v in self._validations
        ]
        self._values = [scope.compile(a.get("valueExpression", ""), STRING, NULL) for a in self._annotations]

    def validate(self, seen: Mapping[str, Any], authorizer: Mapping[str, Any], patience: Patience) -> Verdict:
        """`seen` is what all expressions see; only conditions and validations may ask the authorizer."""
        try:
            if not self._conditions.match(Evaluation({**seen, "namespaceObject": None, **authorizer}, patience)):
                return Verdict()
        except ConditionsFailed as error:
            return Verdict([self._error(str(error))])
        try:
            asking = Evaluation({**seen, **authorizer}, patience, self._variables)
            results, left = asking.run(self._expressions, RUNTIME_BUDGET)
            plain = Evaluation(seen, patience, self._variables)
            decisions = self._decisions(results, plain, left)
            values, _ = plain.run(self._values, RUNTIME_BUDGET)
        except OutOfBudget as error:
            return Verdict([self._error(str(error))])
        verdict = Verdict(decisions)
        for annotation, value in zip(self._annotations, values, strict=True):
            self._annotate(verdict, annotation["key"], value)
        return verdict

    def _error(self, message: str) -> Decision:
        return Decision(denies=self._denies_errors, message=message, is_error=True)

    def _decisions(self, results: list[Result], evaluation: Evaluation, budget: int) -> list[Decision]:
        spent = ""
        messages: Sequence[Result] = [Result()] * len(results)
        try:
            messages, _ = evaluation.run(self._messages, budget)
        except OutOfBudget as error:
            spent = f"failed messageExpression: {error}"
        decisions = []
        for validation, result, message in zip(self._validations, results, messages, strict=True):
            if result.error or spent:
                decisions.append(self._error(result.error or spent))
            elif result.value is True:
                decisions.append(Decision(denies=False))
            else:
                reason = validation.get("reason") or "Invalid"
                decisions.append(Decision(denies=True, message=_message(validation, message), reason=reason))
        return decisions

    def _annotate(self, verdict: Verdict, key: str, result: Result) -> None:
        if result.error:
            if self._denies_errors:
                verdict.annotation_errors.append(self._error(result.error))
            return
        value = result.value.strip() if isinstance(result.value, str) else ""
        if value:
            shown = value.encode()[:_LONGEST_VALUE].decode(errors="ignore")
            verdict.annotations.append((key, shown))


def _message(validation: Object, result: Result) -> str:
    """What the expression says, if that can be shown; else the message, else what failed."""
    made = result.value.strip() if isinstance(result.value, str) and not result.error else ""
    if made and len(made.encode()) <= MAX_MESSAGE_SIZE and "\n" not in made:
        return made
    given = validation.get("message", "").strip()
    return given or f"failed expression: {validation['expression'].strip()}"
