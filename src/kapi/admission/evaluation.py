"""Expressions about a request: compiled, and evaluated over what they may look at, within a budget.

The errors and the accounting are those of upstream's admission/plugin/cel. Importing this module loads CEL.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from kapi.admission.patience import Patience, TakesLong
from kapi.admission.questions import Questions
from kapi.admission.request import namespace_of
from kapi.api.objects import Object
from kapi.cel.environment import Budget, Environment, Program
from kapi.cel.library.authorizer import Access, authorizer, resource_authorizer
from kapi.cel.limits import PER_CALL_LIMIT
from kapi.cel.policies import PolicyError, Variables, compile_expression, policy_environment, with_variables
from kapi.cel.types import ANY, DYN, CelType
from kapi.cel.values import CostLimitExceeded, EvaluationError
from kapi.registry.attributes import Attributes

_SPENT = "validation failed due to running out of cost budget, no further validation rules will be run"


class OutOfBudget(Exception):
    """The expressions cost more than they may together."""

    def __init__(self) -> None:
        super().__init__(_SPENT)


@dataclass(frozen=True, slots=True)
class Expression:
    """One expression; without a program, `problem` says why it does not compile."""

    text: str
    program: Program | None
    problem: str = ""


class Result(NamedTuple):
    value: Any = None
    error: str = ""


def compile_one(environment: Environment, text: str, *expected: CelType) -> Expression:
    try:
        return Expression(text, compile_expression(environment, text.strip(), expected))
    except PolicyError as error:
        return Expression(text, None, str(error))


def compile_all(texts: Sequence[str], *expected: CelType, params: bool) -> list[Expression]:
    """Expressions without variables, which may ask the authorizer."""
    environment = policy_environment(params=params, authorize=True)
    return [compile_one(environment, text, *expected) for text in texts]


class Scope:
    """What the expressions of one policy may look at: the variables that it defines, in their order."""

    def __init__(self, variables: Sequence[Object], *, params: bool, patches: bool = False) -> None:
        self._params = params
        self._patches = patches
        self._types: dict[str, CelType] = {}
        self.variables: dict[str, Expression] = {}
        for variable in variables:
            name = variable["name"]
            made = compile_one(self.environment(), variable.get("expression", ""), ANY)
            self.variables[name] = made
            self._types[name] = made.program.result_type if made.program is not None else DYN

    def environment(self, *, authorize: bool = True) -> Environment:
        base = policy_environment(params=self._params, authorize=authorize, patches=self._patches)
        return with_variables(base, self._types) if self._types else base

    def compile(self, text: str, *expected: CelType, authorize: bool = True) -> Expression:
        return compile_one(self.environment(authorize=authorize), text, *expected)


class Evaluation:
    """What expressions see of one request. Each `run` evaluates variables anew, as upstream does."""

    def __init__(
        self, seen: Mapping[str, Any], patience: Patience, variables: Mapping[str, Expression] | None = None
    ) -> None:
        self._seen = seen
        self._patience = patience
        self._variables = variables or {}
        self._composed = 0  # what variables cost since it was last asked

    def run(self, expressions: Sequence[Expression | None], budget: int) -> tuple[list[Result], int]:
        """A result for each expression (a missing one has none), and what is left. Raises OutOfBudget."""
        if not any(expressions):
            return [Result()] * len(expressions), budget
        seen = self._activation()
        results = []
        for expression in expressions:
            if expression is None:
                results.append(Result())
                continue
            result, cost = self._evaluate(expression, seen)
            cost += self._composed
            self._composed = 0
            if cost > budget:
                raise OutOfBudget
            budget -= cost
            results.append(result)
        return results, budget

    def _activation(self) -> dict[str, Any]:
        seen = dict(self._seen)
        if self._variables:
            evaluations = {name: _deferred(self, e, seen) for name, e in self._variables.items()}
            seen["variables"] = Variables(evaluations)
        return seen

    def _evaluate(self, expression: Expression, seen: Mapping[str, Any]) -> tuple[Result, int]:
        if expression.program is None:
            return Result(error=f"compilation error: {expression.problem}"), 0
        budget = self._budget()
        try:
            result = Result(self._value(expression.program, seen, budget))
        except EvaluationError as error:
            result = Result(error=f"expression '{expression.text}' resulted in error: {error}")
        return result, budget.per_call - budget.remaining

    def variable(self, expression: Expression, seen: Mapping[str, Any]) -> Any:
        if expression.program is None:
            raise EvaluationError(f"fails to compile: {expression.problem}")
        budget = self._budget()
        try:
            return self._value(expression.program, seen, budget)
        finally:
            self._composed += budget.per_call - budget.remaining

    def _budget(self) -> Budget:
        left = self._patience.left
        limit = PER_CALL_LIMIT if left is None else max(0, min(left, PER_CALL_LIMIT))
        return Budget(limit, limit)

    def _value(self, program: Program, seen: Mapping[str, Any], budget: Budget) -> Any:
        try:
            return program.evaluate(seen, budget)
        except CostLimitExceeded:
            if budget.per_call < PER_CALL_LIMIT:
                raise TakesLong from None
            raise
        finally:
            if self._patience.left is not None:
                self._patience.left -= budget.per_call - budget.remaining


def _deferred(evaluation: Evaluation, expression: Expression, seen: Mapping[str, Any]) -> Any:
    return lambda: evaluation.variable(expression, seen)


def asked(attributes: Attributes, questions: Questions) -> dict[str, Any]:
    """The authorizer, for expressions that may ask it."""
    access = Access(
        group=attributes.resource.group,
        resource=attributes.resource.resource,
        subresource=attributes.subresource,
        namespace=namespace_of(attributes),
        name=attributes.name,
    )
    return {
        "authorizer": authorizer(questions.decide),
        "authorizer.requestResource": resource_authorizer(questions.decide, access),
    }
