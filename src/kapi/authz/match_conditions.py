"""Match conditions: CEL expressions over a request that say whether a webhook is asked about it at all."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

from kapi.api.objects import Object
from kapi.authz.rules import aggregate
from kapi.cel.declarations import TEXT, Declaration, Field, array_of, mapping_of, object_of
from kapi.cel.environment import Environment, Program
from kapi.cel.kubernetes import base_environment
from kapi.cel.policies import compile_expression
from kapi.cel.types import BOOL
from kapi.cel.values import EvaluationError

_UNBOUNDED = -1
_ATTRIBUTES = ("namespace", "verb", "group", "version", "resource", "subresource", "name")


@cache
def _environment() -> Environment:
    texts = array_of(TEXT, _UNBOUNDED)
    requirement = _object("kubernetes.SelectorRequirement", key=TEXT, operator=TEXT, values=texts)
    requirements = array_of(requirement, _UNBOUNDED)
    selectors = {
        "fieldSelector": _object("kubernetes.FieldSelectorAttributes", rawSelector=TEXT, requirements=requirements),
        "labelSelector": _object("kubernetes.LabelSelectorAttributes", rawSelector=TEXT, requirements=requirements),
    }
    resource = _object("kubernetes.ResourceAttributes", **dict.fromkeys(_ATTRIBUTES, TEXT), **selectors)
    request = _object(
        "kubernetes.SubjectAccessReviewSpec",
        resourceAttributes=resource,
        nonResourceAttributes=_object("kubernetes.NonResourceAttributes", path=TEXT, verb=TEXT),
        user=TEXT,
        groups=texts,
        extra=mapping_of(texts, _UNBOUNDED),
        uid=TEXT,
    )
    return base_environment().extend({"request": request})


def _object(name: str, /, **fields: Declaration) -> Declaration:
    return object_of(name, {key: Field(name=key, declaration=held) for key, held in fields.items()})


def compile_condition(expression: str) -> Program:
    """Raises PolicyError."""
    return compile_expression(_environment(), expression, (BOOL,))


class MatchConditions:
    """All of them must hold; one that is false decides, whatever the others."""

    def __init__(self, expressions: Sequence[str]) -> None:
        self._programs = tuple(map(compile_condition, expressions))

    def match(self, spec: Object) -> tuple[bool, str]:
        """Whether a review's spec matches, and why that cannot be told: some failed, and none was false."""
        variables = {"request": _request(spec)}
        problems: list[str] = []
        for program in self._programs:
            try:
                if not program.evaluate(variables):
                    return False, ""
            except EvaluationError as error:
                said = f"expression '{program.expression}' resulted in error: {error}"
                problems.append(f"cel evaluation error: {said}")
        return not problems, aggregate(problems)


def _request(spec: Object) -> Object:
    """As upstream: every text is there, if only empty, so that conditions need not ask."""
    request: dict[str, Any] = {
        "user": spec.get("user", ""),
        "groups": spec.get("groups", []),
        "uid": spec.get("uid", ""),
        "extra": spec.get("extra", {}),
    }
    resource, path = spec.get("resourceAttributes"), spec.get("nonResourceAttributes")
    if resource is not None:
        request["resourceAttributes"] = {**dict.fromkeys(_ATTRIBUTES, ""), **resource}
    if path is not None:
        request["nonResourceAttributes"] = {"path": "", "verb": "", **path}
    return request
