"""Validation rules of one schema node: `x-kubernetes-validations`, compiled once and judged many times.

rules = compile_rules(declaration, schema["x-kubernetes-validations"])
failures = validate(rules, value, old_value, "spec.replicas", budget, kind="integer")
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kapi.api.fields import OMITTED, FieldError
from kapi.cel.bounds import MAX
from kapi.cel.data import Convert, converter
from kapi.cel.declarations import Declaration, named
from kapi.cel.environment import Budget, Environment, Program
from kapi.cel.kubernetes import base_environment
from kapi.cel.limits import MAX_MESSAGE_SIZE, MAX_REQUEST_SIZE
from kapi.cel.source import CompileError, InstantiationError
from kapi.cel.types import BOOL, STRING, optional_of
from kapi.cel.values import NONE, CostLimitExceeded, EvaluationError, NoSuchOverload, Optional

_REASONS = frozenset({"FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate"})
_SEGMENT = re.compile(r"\.([^.\[\]]+)|\['((?:\\.|[^'])*)'\]")
_ESCAPED = re.compile(r"\\(.)")
_NO_BOOL = "cel expression must evaluate to a bool"
_NO_MORE = "due to running out of cost budget, no further validation rules will be run"
OUT_OF_BUDGET = f"validation failed {_NO_MORE}"
MESSAGE_OUT_OF_BUDGET = f"messageExpression evaluation failed {_NO_MORE}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A rule as it is written, and what became of it. `problem` and `message_problem` say why there is no program."""

    source: Mapping[str, Any]
    program: Program | None = None
    problem: str = ""
    message_program: Program | None = None
    message_problem: str = ""
    uses_old_self: bool = False
    max_cost: int = 0
    message_max_cost: int = 0
    where: str = ""

    @property
    def text(self) -> str:
        """How messages name the rule."""
        return str(self.source.get("message") or self.source["rule"]).strip()

    @property
    def optional_old_self(self) -> bool:
        return bool(self.source.get("optionalOldSelf"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """All rules of one node. `max_cardinality` is how often its value can occur in one request."""

    rules: tuple[Rule, ...]
    max_cardinality: int
    convert: Convert | None


class Failure(NamedTuple):
    """A rule that does not hold, or could not be judged. A rule without oldSelf may be ratcheted by the caller."""

    error: FieldError
    uses_old_self: bool = True

    @property
    def path(self) -> str:
        return self.error.path

    @property
    def message(self) -> str:
        return self.error.detail

    @property
    def reason(self) -> str:
        return self.error.reason


def compile_rules(declaration: Declaration, rules: Sequence[Mapping[str, Any]]) -> Rules:
    scoped = named(declaration, "selfType")
    plain = base_environment().extend({"self": scoped, "oldSelf": scoped})
    optional = Declaration(type=optional_of(scoped.type), fields=scoped.fields, element=scoped.element, key=scoped.key,
                           max_elements=scoped.max_elements)  # fmt: skip
    with_optional = base_environment().extend({"self": scoped, "oldSelf": optional})
    compiled = tuple(
        _compile(rule, with_optional if rule.get("optionalOldSelf") else plain, declaration) for rule in rules
    )
    return Rules(
        rules=compiled, max_cardinality=MAX_REQUEST_SIZE // (declaration.min_size + 1), convert=converter(declaration)
    )


def field_path(text: str, declaration: Declaration) -> str:
    """The path that a rule points to, as errors write it: `['a.b']` is `.a.b` in an object and `[a.b]` in a map."""
    result = ""
    current: Declaration | None = declaration
    for plain, quoted in _SEGMENT.findall(text):
        name = plain or _ESCAPED.sub(r"\1", quoted)
        result += f"[{name}]" if current is not None and current.type.kind == "map" else f".{name}"
        if current is not None:
            found = next((f.declaration for f in current.fields.values() if f.name == name), None)
            current = current.element if current.type.kind == "map" else found
    return result


def _compile(rule: Mapping[str, Any], environment: Environment, declaration: Declaration) -> Rule:
    text = rule.get("rule", "")
    if not text.strip():
        return Rule(source=rule)
    try:
        program = environment.compile(text)
    except CompileError as error:
        no_bool = isinstance(error, InstantiationError) and error.result_type != BOOL
        return Rule(source=rule, problem=_NO_BOOL if no_bool else f"{error.step} failed: {error}")
    if program.result_type != BOOL:
        return Rule(source=rule, problem=_NO_BOOL)
    message, problem, message_cost = _compile_message(rule, environment)
    return Rule(
        source=rule,
        program=program,
        message_program=message,
        message_problem=problem,
        uses_old_self="oldSelf" in program.variables,
        max_cost=program.estimate().high,
        message_max_cost=message_cost,
        where=field_path(rule.get("fieldPath") or "", declaration),
    )


def _compile_message(rule: Mapping[str, Any], environment: Environment) -> tuple[Program | None, str, int]:
    text = rule.get("messageExpression", "")
    if not text:
        return None, "", 0
    try:
        program = environment.compile(text)
    except CompileError as error:
        return None, f"messageExpression {error.step.removeprefix('program ')} failed: {error}", 0
    if program.result_type != STRING:
        return None, "messageExpression must evaluate to a string", 0
    return program, "", min(program.estimate().high, MAX)


def validate(rules: Rules, value: Any, old: Any, path: str, budget: Budget, *, kind: str) -> list[Failure]:
    """Judge a value (and what it was before, or None). A budget below zero ends all validation."""
    if value is None or not rules.rules:
        return []
    if budget.remaining <= 0:
        budget.remaining = -1
        return [_problem(path, kind, OUT_OF_BUDGET)]
    try:
        convert = rules.convert
        variables = {"self": convert(value) if convert else value}
        before = convert(old) if convert and old is not None else old
    except EvaluationError as error:
        return [_problem(path, kind, f"{error} evaluating rule: {rule.text}") for rule in rules.rules]
    failures: list[Failure] = []
    for rule in rules.rules:
        if rule.problem:
            failures.append(_problem(path, kind, f"rule compile error: {rule.problem}"))
            continue
        if rule.program is None or (rule.uses_old_self and before is None and not rule.optional_old_self):
            continue
        if rule.optional_old_self:
            variables["oldSelf"] = Optional(before) if before is not None else NONE
        else:
            variables["oldSelf"] = before
        failures += _judge(rule, variables, value, path, budget, kind)
        if budget.remaining < 0:
            break
    return failures


def _judge(rule: Rule, variables: dict[str, Any], value: Any, path: str, budget: Budget, kind: str) -> list[Failure]:
    assert rule.program is not None
    try:
        if rule.program.evaluate(variables, budget) is True:
            return []
    except CostLimitExceeded as error:
        text = (
            f"'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {rule.text}"
        )
        spent_all = budget.remaining < 0
        budget.remaining = -1
        return [_problem(path, kind, OUT_OF_BUDGET if spent_all else text)]
    except NoSuchOverload as error:
        signature = "call arguments did not match a supported operator, function or macro signature for rule"
        return [_problem(path, kind, f"'{error}': {signature}: {rule.text}")]
    except EvaluationError as error:
        return [_problem(path, kind, f"{error} evaluating rule: {rule.text}")]
    return [_failed(rule, variables, value, (path + rule.where).removeprefix("."), budget, kind)]


def _problem(path: str, kind: str, detail: str) -> Failure:
    return Failure(FieldError("FieldValueInvalid", path, detail, kind))


def _failed(rule: Rule, variables: dict[str, Any], value: Any, path: str, budget: Budget, kind: str) -> Failure:
    detail = _evaluated_message(rule, variables, budget)
    if budget.remaining < 0:
        return Failure(FieldError("FieldValueInvalid", path, detail, kind), rule.uses_old_self)
    if not detail:
        message = rule.source.get("message", "")
        detail = message.strip() if message else f"failed rule: {rule.text}"
    reason = rule.source.get("reason") or "FieldValueInvalid"
    shown = OMITTED if kind in ("object", "array") else value
    if reason in ("FieldValueForbidden", "FieldValueRequired"):
        shown = OMITTED
    if reason == "FieldValueDuplicate":
        detail = ""
    return Failure(
        FieldError(reason if reason in _REASONS else "FieldValueInvalid", path, detail, shown), rule.uses_old_self
    )


def _evaluated_message(rule: Rule, variables: dict[str, Any], budget: Budget) -> str:
    """The message that an expression made; empty where it made none that can be used."""
    if rule.message_program is None:
        return ""
    try:
        made = rule.message_program.evaluate(variables, budget)
    except CostLimitExceeded:
        exhausted = budget.remaining < 0
        budget.remaining = -1
        if exhausted:
            return MESSAGE_OUT_OF_BUDGET
        text = rule.source["messageExpression"]
        return f'no further validation rules will be run due to call cost exceeds limit for messageExpression: "{text}"'
    except EvaluationError:
        return ""
    text = made.strip() if isinstance(made, str) else ""
    usable = len(text.encode()) <= MAX_MESSAGE_SIZE and "\n" not in text
    return text if usable else ""
