"""matchConditions: expressions that say whether a webhook or a policy is about a request at all."""

from __future__ import annotations

from collections.abc import Sequence

from kapi.admission.evaluation import Evaluation, Expression, OutOfBudget, compile_all
from kapi.admission.refusal import all_of
from kapi.api.objects import Object
from kapi.cel.limits import MATCH_CONDITIONS_BUDGET
from kapi.cel.types import BOOL


class ConditionsFailed(Exception):
    """No condition said no, but some failed where failures count; the text says how."""


class MatchConditions:
    """Those of one configuration object, compiled once; importing this module loads CEL."""

    def __init__(self, conditions: Sequence[Object], *, ignore_errors: bool, params: bool = False) -> None:
        texts = [condition.get("expression", "") for condition in conditions]
        self._expressions: list[Expression] = compile_all(texts, BOOL, params=params)
        self._ignore = ignore_errors

    def match(self, evaluation: Evaluation) -> bool:
        """Whether all conditions hold. ConditionsFailed as the failure policy has it."""
        if not self._expressions:
            return True
        try:
            results = evaluation.run(self._expressions, MATCH_CONDITIONS_BUDGET)[0]
        except OutOfBudget as error:
            return self._failed(str(error))
        if any(result.value is False for result in results):
            return False
        errors = [result.error for result in results if result.error]
        return self._failed(all_of(errors)) if errors else True

    def _failed(self, why: str) -> bool:
        if self._ignore:
            return False
        raise ConditionsFailed(why)
