"""The environment of admission policies and mutations."""

from typing import Any

import pytest

from kapi.cel.conversions import to_json
from kapi.cel.policies import (
    OBJECT,
    PATCHES,
    PolicyError,
    Variables,
    compile_expression,
    misnamed_objects,
    policy_environment,
    with_variables,
)
from kapi.cel.types import BOOL, DYN, NULL, STRING
from kapi.cel.values import EvaluationError


def test_objects_are_of_any_type_and_requests_are_not() -> None:
    environment = policy_environment()
    environment.compile("object.spec.anything == 1 && request.userInfo.groups.exists(g, g == 'x')")
    with pytest.raises(PolicyError, match="undefined field 'nothing'"):
        compile_expression(environment, "request.nothing", [BOOL])
    with pytest.raises(PolicyError, match="undeclared reference to 'params'"):
        compile_expression(environment, "params.x", [BOOL])


@pytest.mark.parametrize(
    ("text", "expected", "message"),
    [
        ("1", [OBJECT], "must evaluate to Object but got int"),
        ("'x'", [PATCHES], "must evaluate to list(JSONPatch) but got string"),
        ("1", [STRING, NULL], "must evaluate to one of [string null_type] but got int"),
        ("Object{", [OBJECT], "compilation failed: ERROR: <input>:1:8: Syntax error: mismatched input"),
        ("JSONPatch{x: 1}", [PATCHES], "compilation failed: ERROR: <input>:1:12: expected type of field 'x' is ''"),
        ("JSONPatch{op: 1}", [PATCHES], "compilation failed: ERROR: <input>:1:13: expected type of field 'op'"),
        ("{'a': 'b', 'c': object.x}", [DYN], "compilation failed: ERROR: <input>:1:23: expected type 'string'"),
    ],
)
def test_an_expression_has_to_make_what_it_is_for(text: str, expected: list[Any], message: str) -> None:
    with pytest.raises(PolicyError) as caught:
        compile_expression(policy_environment(patches=True), text, expected)
    assert str(caught.value).startswith(message)


def test_a_configuration_is_plain_json_in_the_end() -> None:
    text = "Object{metadata: Object.metadata{labels: {'a': string(object.n)}, ?annotations: optional.none()}, n: 1u}"
    program = compile_expression(policy_environment(patches=True), text, [OBJECT])
    result = program.evaluate({"object": {"n": 2}})
    assert to_json(result) == {"metadata": {"labels": {"a": "2"}}, "n": 1}
    assert misnamed_objects(result) == []


def test_parts_of_a_configuration_are_named_by_their_path() -> None:
    program = policy_environment(patches=True).compile("Object{spec: Object.metadata{a: 1}}")
    assert misnamed_objects(program.evaluate({})) == [
        'unexpected type name "Object.metadata", expected "Object.spec", '
        "which matches field name path from root Object type"
    ]


def test_patches_escape_keys() -> None:
    text = "[JSONPatch{op: 'add', path: '/a/' + jsonpatch.escapeKey('x~/y'), value: Object.b{c: 1}}]"
    program = compile_expression(policy_environment(patches=True), text, [PATCHES])
    assert to_json(program.evaluate({})) == [{"op": "add", "path": "/a/x~0~1y", "value": {"c": 1}}]


def test_variables_are_evaluated_when_needed_and_once() -> None:
    count = 0

    def expensive() -> int:
        nonlocal count
        count += 1
        return 2

    def failing() -> int:
        raise EvaluationError("no such key: x")

    environment = with_variables(policy_environment(), {"v": DYN, "bad": DYN})
    values = {"variables": Variables({"v": expensive, "bad": failing})}
    assert environment.compile("true || variables.v == 2").evaluate(values) is True
    assert count == 0
    assert environment.compile("variables.v + variables.v == 4").evaluate(values) is True
    assert count == 1
    with pytest.raises(EvaluationError, match='composited variable "bad" fails to evaluate: no such key: x'):
        environment.compile("variables.bad == 1").evaluate(values)
