"""Rules in the schema of a custom resource: what is refused in a definition, and what objects are held to."""

from typing import Any

import pytest

from kapi.cel.custom_resources import evaluator, validate_rules

ROOT = "spec.validation.openAPIV3Schema"
TEXT = {"type": "string", "maxLength": 10}


def schema(**properties: Any) -> dict[str, Any]:
    return {"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}}


def with_rules(shape: dict[str, Any], *rules: str | dict[str, Any]) -> dict[str, Any]:
    made = [{"rule": rule} if isinstance(rule, str) else rule for rule in rules]
    return {**shape, "x-kubernetes-validations": made}


def refused(definition: dict[str, Any]) -> list[tuple[str, str]]:
    return [(error.path, error.body) for error in validate_rules(definition, ROOT, costs=True)]


def judged(definition: dict[str, Any], new: Any, old: Any = None) -> list[str]:
    before = {"spec": old} if old is not None else None
    return [str(error) for error in evaluator(definition)({"spec": new}, before)]


def test_a_field_that_the_schema_lacks_is_refused_with_the_whole_rule() -> None:
    shape = {"type": "object", "properties": {"x": TEXT}}
    definition = schema(f=with_rules(shape, "self.y == '<&>'"))
    assert refused(definition) == [
        (
            f"{ROOT}.properties[spec].properties[f].x-kubernetes-validations[0].rule",
            'Invalid value: {"Rule":"self.y == \'\\u003c\\u0026\\u003e\'","Message":"","MessageExpression":"",'
            '"Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: '
            "ERROR: <input>:1:5: undefined field 'y'\n | self.y == '<&>'\n | ....^",
        )
    ]


def test_a_rule_has_to_be_a_condition_and_its_message_a_string() -> None:
    definition = schema(f=with_rules(TEXT, "self", "int('x')", {"rule": "true", "messageExpression": "1"}))
    assert [body.rsplit(": ", 1)[-1] for _, body in refused(definition)] == [
        "cel expression must evaluate to a bool",
        "cel expression must evaluate to a bool",
        "messageExpression must evaluate to a string",
    ]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        ("int('x') == 1", "type conversion error from 'string' to 'int'"),
        ("true || bool('x')", "type conversion error from 'string' to 'bool'"),
        ("[uint(-1)].size() == 1", "unsigned integer overflow"),
        ("self.find('[') == ''", "error parsing regexp: missing closing ]: `[`"),
        ("self.findAll('(?<=a)').size() == 1", "error parsing regexp: invalid named capture: `(?<=a)`"),
    ],
)
def test_a_constant_that_can_not_be_what_it_is_meant_to_be_is_refused(expression: str, reason: str) -> None:
    rules = (expression, {"rule": "true", "messageExpression": f"string({expression})"})
    assert [body.partition("}: ")[2] for _, body in refused(schema(f=with_rules(TEXT, *rules)))] == [
        f"program instantiation failed: {reason}",
        f"messageExpression instantiation failed: {reason}",
    ]


@pytest.mark.parametrize(
    "name",
    ["self.for", "self.__for__", "self.a__dash__b", "self.a__dot__b", "self.x__underscores__y", "self.a__slash__b"],
)
def test_every_property_has_a_name_in_expressions(name: str) -> None:
    shape = {"type": "object", "properties": dict.fromkeys(("for", "a-b", "a.b", "x__y", "a/b"), TEXT)}
    definition = schema(f=with_rules(shape, f"{name} != 'x'"))
    assert refused(definition) == []
    assert len(judged(definition, {"f": {"for": "x", "a-b": "x", "a.b": "x", "x__y": "x", "a/b": "x"}})) == 1


@pytest.mark.parametrize("shape", [{}, {"type": "array", "items": {}}])
def test_rules_are_refused_where_nothing_is_known_of_the_value(shape: dict[str, Any]) -> None:
    assert refused(schema(f=with_rules({**shape, "x-kubernetes-preserve-unknown-fields": True}, "self == 1"))) == [
        (
            f"{ROOT}.properties[spec].properties[f].x-kubernetes-validations",
            "Internal error: internal error: failed to construct type information for x-kubernetes-validations rules: "
            "unable to convert structural schema to CEL declarations",
        )
    ]


def test_rules_without_bounds_cost_too_much() -> None:
    items = {"type": "array", "items": {"type": "string"}}
    errors = refused(schema(f=with_rules(items, "self.all(x, self.all(y, x == y))")))
    assert [path.removeprefix(ROOT) for path, _ in errors] == [
        ".properties[spec].properties[f].x-kubernetes-validations[0].rule",
        ".properties[spec].properties[f].x-kubernetes-validations[0].rule",
        "",
    ]
    assert "exceeds budget by factor of more than 100x" in errors[0][1]
    assert errors[1][1] == (
        "Forbidden: contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema"
    )


def test_bounds_make_the_same_rule_acceptable() -> None:
    items = {"type": "array", "maxItems": 10, "items": TEXT}
    assert refused(schema(f=with_rules(items, "self.all(x, self.all(y, x == y))"))) == []


def test_a_rule_below_an_unbounded_list_is_multiplied() -> None:
    element = with_rules({"type": "string"}, "self.contains('x')")
    assert refused(schema(f={"type": "array", "items": element}))
    assert not refused(schema(f={"type": "array", "maxItems": 10, "items": element}))


def test_old_self_needs_a_place_where_old_values_can_be_found() -> None:
    element = with_rules(TEXT, "self == oldSelf")
    errors = refused(schema(f={"type": "array", "maxItems": 5, "items": element}))
    assert errors[0][1] == (
        'Invalid value: "self == oldSelf": oldSelf cannot be used on the uncorrelatable portion of the schema within '
        f"{ROOT}.properties[spec].properties[f]"
    )


def test_optional_old_self_is_refused_where_it_is_not_used() -> None:
    definition = schema(f=with_rules(TEXT, {"rule": "self == 'x'", "optionalOldSelf": True}))
    assert refused(definition)[0][1] == "Invalid value: true: may not be set if oldSelf is not used in rule"


def test_a_failed_rule_names_itself_unless_it_has_a_message() -> None:
    definition = schema(
        a=with_rules(TEXT, "self == 'x'"),
        b=with_rules(TEXT, {"rule": "self == 'x'", "message": " use x "}),
        c=with_rules(TEXT, {"rule": "self == 'x'", "messageExpression": "'not ' + self"}),
        d=with_rules(TEXT, {"rule": "self == 'x'", "messageExpression": "''", "message": "fallback"}),
    )
    assert judged(definition, {"a": "y", "b": "y", "c": "y", "d": "y"}) == [
        "spec.a: Invalid value: \"y\": failed rule: self == 'x'",
        'spec.b: Invalid value: "y": use x',
        'spec.c: Invalid value: "y": not y',
        'spec.d: Invalid value: "y": fallback',
    ]


def test_a_rule_chooses_its_reason_and_its_field() -> None:
    shape = {"type": "object", "properties": {"x": TEXT, "m": {"type": "object", "additionalProperties": TEXT}}}
    rules = [
        {"rule": "false", "reason": reason, "message": "no", "fieldPath": path}
        for reason, path in (
            ("FieldValueForbidden", ".x"),
            ("FieldValueRequired", ".m['k']"),
            ("FieldValueDuplicate", ""),
            ("FieldValueInvalid", ".m.k"),
        )
    ]
    assert judged(schema(f=with_rules(shape, *rules)), {"f": {}}) == [
        "spec.f.x: Forbidden: no",
        "spec.f.m[k]: Required value: no",
        "spec.f: Duplicate value",
        "spec.f.m[k]: Invalid value: no",
    ]


def test_an_error_in_a_rule_is_reported_with_the_type() -> None:
    shape = {"type": "object", "properties": {"x": TEXT, "in": TEXT}}
    definition = schema(f=with_rules(shape, "self.x == 'a'", "self.__in__ == 'a'"))
    assert judged(definition, {"f": {"x": None}}) == [
        "spec.f: Invalid value: \"object\": no such key: x evaluating rule: self.x == 'a'",
        "spec.f: Invalid value: \"object\": no such key: __in__ evaluating rule: self.__in__ == 'a'",
    ]


def test_rules_at_the_root_see_the_name_and_nothing_else_of_the_metadata() -> None:
    definition = with_rules(schema(), {"rule": "self.metadata.name.startsWith('x')", "message": "bad name"})
    errors = evaluator(definition)({"metadata": {"name": "y"}}, None)
    assert [str(error) for error in errors] == ["<nil>: Invalid value: bad name"]
    labels = with_rules(schema(), "self.metadata.labels.size() > 0")
    assert "undefined field 'labels'" in refused(labels)[0][1]


def test_transition_rules_wait_for_an_old_value() -> None:
    definition = schema(f=with_rules(TEXT, "self == oldSelf"))
    assert judged(definition, {"f": "a"}) == []
    assert judged(definition, {"f": "a"}, {}) == []
    assert judged(definition, {"f": "a"}, {"f": "b"}) == ['spec.f: Invalid value: "a": failed rule: self == oldSelf']


def test_an_optional_old_self_is_judged_on_creation_too() -> None:
    rule = {"rule": "oldSelf.orValue('none') != self", "optionalOldSelf": True}
    definition = schema(f=with_rules(TEXT, rule))
    assert len(judged(definition, {"f": "none"})) == 1
    assert len(judged(definition, {"f": "a"}, {"f": "a"})) == 1
    assert judged(definition, {"f": "b"}, {"f": "a"}) == []


def test_old_items_are_found_by_their_keys() -> None:
    element = {"type": "object", "required": ["k"], "properties": {"k": TEXT, "v": with_rules(TEXT, "self == oldSelf")}}
    keyed = {"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    definition = schema(f={"type": "array", "maxItems": 5, "items": element, **keyed})
    old = {"f": [{"k": "1", "v": "a"}, {"k": "2", "v": "b"}]}
    assert judged(definition, {"f": [{"k": "2", "v": "b"}, {"k": "1", "v": "a"}, {"k": "3", "v": "c"}]}, old) == []
    assert judged(definition, {"f": [{"k": "2", "v": "a"}]}, old) == [
        'spec.f[0].v: Invalid value: "a": failed rule: self == oldSelf'
    ]


def test_a_value_that_was_wrong_and_has_not_changed_is_only_warned_of() -> None:
    definition = schema(
        f=with_rules(TEXT, "self == 'x'"), l={"type": "array", "items": with_rules(TEXT, "self == 'x'")}
    )
    judgement = evaluator(definition)
    errors, warnings = judgement.judge({"spec": {"f": "y", "l": ["a"]}}, {"spec": {"f": "y", "l": ["a"]}})
    assert errors == []
    assert len(warnings) == 2
    errors, warnings = judgement.judge({"spec": {"f": "z", "l": ["a", "x"]}}, {"spec": {"f": "y", "l": ["a"]}})
    assert [error.path for error in errors] == ["spec.f", "spec.l[0]"]


def test_formats_are_values_of_their_own() -> None:
    definition = schema(
        t=with_rules({"type": "string", "format": "date-time"}, "self > timestamp('2020-01-01T00:00:00Z')"),
        d=with_rules({"type": "string", "format": "date"}, "self.getFullYear() == 2021"),
        u=with_rules({"type": "string", "format": "duration"}, "self < duration('1h')"),
        b=with_rules({"type": "string", "format": "byte"}, "self.size() == 2"),
        n=with_rules({"type": "number"}, "self / 2.0 == 0.5"),
        i=with_rules({"x-kubernetes-int-or-string": True}, "type(self) == int ? self == 1 : self == '1'"),
    )
    good = {"t": "2021-01-01T00:00:00Z", "d": "2021-05-01", "u": "1m", "b": "aGk=", "n": 1, "i": "1"}
    assert judged(definition, good) == []
    bad = {"t": "2019-01-01T00:00:00Z", "d": "2020-05-01", "u": "2h", "b": "aGlq", "n": 2, "i": 2}
    assert [error.split(":")[0] for error in judged(definition, bad)] == [f"spec.{name}" for name in bad]


def test_sets_are_equal_in_any_order_and_keyed_lists_merge() -> None:
    item = {"type": "object", "properties": {"k": TEXT, "v": TEXT}}
    shape = {
        "type": "object",
        "properties": {
            "s": {"type": "array", "maxItems": 5, "items": TEXT, "x-kubernetes-list-type": "set"},
            "m": {
                "type": "array",
                "maxItems": 5,
                "items": item,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["k"],
            },
        },
    }
    definition = schema(f=with_rules(shape, "self.s == ['a', 'b']", "(self.m + self.m).size() == self.m.size()"))
    assert judged(definition, {"f": {"s": ["b", "a"], "m": [{"k": "1"}, {"k": "2"}]}}) == []


def test_rules_in_all_of_are_judged_as_well() -> None:
    definition = schema(f={**TEXT, "allOf": [with_rules({}, "self == 'x'")]})
    assert judged(definition, {"f": "y"}) == ["spec.f: Invalid value: \"y\": failed rule: self == 'x'"]


def test_an_object_that_is_too_expensive_to_judge_is_refused() -> None:
    numbers = {"type": "array", "items": {"type": "integer"}}
    definition = schema(f=with_rules(numbers, "self.all(x, self.all(y, self.exists(z, z == x)))", "true"))
    errors = judged(definition, {"f": list(range(2000))})
    assert errors == [
        "spec.f: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation "
        "rules will be run due to call cost exceeds limit for rule: self.all(x, self.all(y, self.exists(z, z == x)))"
    ]
