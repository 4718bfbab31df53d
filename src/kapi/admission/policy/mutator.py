"""The expressions of a mutating policy, and what they make of an object. As upstream's policy/mutating."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from kapi.admission.evaluation import Evaluation, Expression, OutOfBudget, Scope
from kapi.admission.match_conditions import MatchConditions
from kapi.admission.patience import Patience
from kapi.admission.policy.natives import native
from kapi.api.errors import InternalError
from kapi.api.objects import Object
from kapi.cel.conversions import to_json
from kapi.cel.limits import RUNTIME_BUDGET
from kapi.cel.policies import OBJECT, PATCHES, misnamed_objects
from kapi.cel.values import EvaluationError, ObjectValue
from kapi.codec.decode import strict_message
from kapi.codec.strict import unknown
from kapi.patch import json_patch
from kapi.patch.apply.check import problems
from kapi.patch.apply.merge import merge
from kapi.patch.apply.shape import Shape, shape_of
from kapi.patch.errors import PatchError, TestDoesNotHold
from kapi.patch.values import copied
from kapi.registry.resource import Resource
from kapi.schema.compile import decode
from kapi.schema.errors import TypeMismatch
from kapi.schema.types import Type


class MutationFailed(Exception):
    """A mutation came to nothing; the text says why."""


class Mutator:
    """A compiled policy. It changes nothing itself, so an evaluation may be repeated."""

    def __init__(self, policy: Object) -> None:
        spec = policy["spec"]
        params = spec.get("paramKind") is not None
        scope = Scope(spec.get("variables") or (), params=params, patches=True)
        self._variables: Mapping[str, Expression] = scope.variables
        ignores = spec.get("failurePolicy") == "Ignore"
        self._conditions = MatchConditions(spec.get("matchConditions") or (), ignore_errors=ignores, params=params)
        self.mutations: list[Expression] = []
        self._applies: list[bool] = []
        for mutation in spec.get("mutations") or ():
            applies = mutation["patchType"] == "ApplyConfiguration"
            patch = mutation["applyConfiguration" if applies else "jsonPatch"]
            self.mutations.append(scope.compile(patch["expression"], OBJECT if applies else PATCHES))
            self._applies.append(applies)

    def matches(self, seen: Mapping[str, Any], patience: Patience) -> bool:
        """Raises ConditionsFailed."""
        return self._conditions.match(Evaluation({**seen, "namespaceObject": None}, patience))

    def mutated(
        self, index: int, seen: Mapping[str, Any], resource: Resource, type_: Type, patience: Patience
    ) -> Object:
        """What one mutation makes of the object: a new one. MutationFailed, or an API error."""
        expression = self.mutations[index]
        if expression.program is None:
            raise MutationFailed(expression.problem)
        try:
            (result,), _ = Evaluation(seen, patience, self._variables).run([expression], RUNTIME_BUDGET)
        except OutOfBudget as error:
            raise MutationFailed(str(error)) from None
        if result.error:
            raise MutationFailed(result.error)
        if self._applies[index]:
            return _settled(_applied(seen["object"], result.value, shape_of(type_)), resource, type_, applied=True)
        try:
            new = json_patch.apply(seen["object"], [_operation(step) for step in result.value])
        except TestDoesNotHold:
            return dict(seen["object"])
        except PatchError as error:
            raise MutationFailed(f"JSON Patch: {error}") from None
        return _settled(new, resource, type_, applied=False)


def _check_names(value: Any) -> None:
    if isinstance(value, ObjectValue):
        misnamed = misnamed_objects(value, value.type_name)
        if misnamed:
            raise MutationFailed("type mismatch: " + "\n".join(misnamed))


def _operation(step: Object) -> Object:
    operation = {"op": step.get("op", ""), "path": step.get("path", "")}
    if step.get("from"):
        operation["from"] = step["from"]
    if "value" in step:
        _check_names(step["value"])
        try:
            operation["value"] = to_json(step["value"])
        except EvaluationError as error:
            why = f"JSONPath valueExpression evaluated to a type that could not marshal to JSON: {error}"
            raise MutationFailed(why) from None
    return operation


def _applied(live: Object, configuration: Any, shape: Shape) -> Object:
    _check_names(configuration)
    named = {"apiVersion": live["apiVersion"], "kind": live["kind"]}
    try:
        patch = {**to_json(configuration), **named}
    except EvaluationError:
        raise MutationFailed("invalid return type: *dynamic.ObjectVal") from None
    misfits = problems({**native(configuration), **named}, shape)
    if misfits:
        raise MutationFailed(f"error applying patch: failed to convert patch object to typed object: {misfits}")
    atomic = ", ".join(_atomics(patch, shape, ""))
    if atomic:
        why = f"may not mutate atomic arrays, maps or structs: {atomic}"
        raise MutationFailed(f"error applying patch: invalid ApplyConfiguration: {why}")
    merged: Object = merge(copied(live), patch, shape)
    return merged


def _atomics(value: Any, shape: Shape, path: str) -> Iterator[str]:
    """What would be replaced whole, though an author may think that it is merged."""
    if isinstance(value, dict) and shape.kind == "object":
        if shape.leaf:
            yield path
        for name in sorted(value):
            if shape.declares(name):
                yield from _atomics(value[name], shape.member(name) or shape, f"{path}.{name}")
    elif isinstance(value, list) and shape.kind == "list":
        if shape.leaf:
            yield path
        for i, item in enumerate(value):
            yield from _atomics(item, shape.element, f"{path}[{i}]")


def _settled(new: Any, resource: Resource, type_: Type, *, applied: bool) -> Object:
    """The object, checked by its type and defaulted, as if it had been sent. What was `applied` is no one's text."""
    if resource.untyped is not None:
        resource.untyped.settle(new)
    else:
        try:
            paths = decode(type_, new)
        except TypeMismatch as error:
            raise _misfit(error, resource) if applied else InternalError(str(error)) from None
        if paths:
            raise InternalError(strict_message([unknown(path) for path in paths]))
    if resource.strategy.default is not None and type_ is resource.schema:
        resource.strategy.default(new)
    settled: Object = new
    return settled


def _misfit(error: TypeMismatch, resource: Resource) -> MutationFailed:
    """What is of the right kind, and yet does not fit: a fraction where a whole number is needed."""
    group, version = resource.group_version
    why = "cannot convert float64 to int64" if error.is_number else str(error)
    return MutationFailed(f"unable to convert unstructured object to {group}/{version}, Kind={resource.kind}: {why}")
