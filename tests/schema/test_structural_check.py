"""Checking custom resources: every rule, in the words of upstream's validator."""

from __future__ import annotations

from typing import Any

import pytest

from kapi.schema.structural import Structural
from kapi.schema.structural_check import validate
from kapi.schema.structural_lists import duplicates
from kapi.schema.structural_types import object_type


def problems(schema: Any, value: Any, **old: Any) -> list[str]:
    node = Structural({"type": "object", "properties": {"f": schema}})
    return [str(e) for e in validate(node, {"f": value}, *([{"f": old["old"]}] if old else []))]


@pytest.mark.parametrize(
    ("schema", "value", "expected"),
    [
        ({"type": "integer"}, "x", 'f: Invalid value: "string": f in body must be of type integer: "string"'),
        ({"type": "string"}, None, 'f: Invalid value: "null": f in body must be of type string: "null"'),
        ({"type": "number"}, True, 'f: Invalid value: "boolean": f in body must be of type number: "boolean"'),
        ({"x-kubernetes-int-or-string": True}, 1.5, 'f in body must be of type integer,string: "number"'),
        ({"type": "string", "maxLength": 1}, "ab", "f: Too long: may not be more than 1 bytes"),
        ({"type": "string", "minLength": 2}, "é", 'f: Invalid value: "é": f in body should be at least 2 chars long'),
        ({"type": "string", "pattern": "^a"}, "b", "f: Invalid value: \"b\": f in body should match '^a'"),
        ({"type": "string", "enum": ["b", "a"]}, "c", 'f: Unsupported value: "c": supported values: "b", "a"'),
        ({"type": "integer", "maximum": 3, "exclusiveMaximum": True}, 3, "f in body should be less than 3"),
        ({"type": "integer", "multipleOf": 5}, 7, "f in body should be a multiple of 5"),
        (
            {"type": "number", "multipleOf": 0.1},
            7,
            "f: Invalid value: 0: factor MultipleOf declared for f must be positive: 0",
        ),
        ({"type": "integer", "format": "int32"}, 1 << 31, "must be of type integer with format int32 in f"),
        ({"type": "string", "format": "date-time"}, "x", 'f in body must be of type date-time: "x"'),
        ({"type": "string", "format": "date-time"}, "2019-01-01T00:00:00Zx", "f in body must be of type date-time"),
        ({"type": "array", "maxItems": 1}, [1, 2], "f: Too many: 2: must have at most 1 items"),
        ({"type": "object", "required": ["a"]}, {}, "f.a: Required value"),
        (
            {"type": "object", "minProperties": 1},
            {},
            "f: Invalid value: 0: f in body should have at least 1 properties",
        ),
        (
            {"type": "object", "additionalProperties": {"type": "string"}},
            {"k": 1},
            "f.k in body must be of type string",
        ),
        ({"type": "array", "items": {"type": "string"}}, ["a", 1], "f[1] in body must be of type string"),
        ({"type": "string", "not": {"pattern": "a"}}, "a", '"f" must not validate the schema (not)'),
    ],
)
def test_a_violation_is_told_in_upstreams_words(schema: Any, value: Any, expected: str) -> None:
    found = problems(schema, value)
    assert len(found) == 1
    assert expected in found[0]


def test_true_is_no_integer_and_a_whole_float_is_one() -> None:
    assert problems({"type": "integer"}, True)
    assert not problems({"type": "integer"}, 2.0)
    assert not problems({"type": "number", "multipleOf": 0.1}, 0.3)


def test_a_fraction_is_cut_off_before_it_is_looked_for_among_integers() -> None:
    assert not problems({"enum": [1, 2]}, 1.5)
    assert problems({"enum": [1, 2]}, 3.5)


@pytest.mark.parametrize(
    ("format_", "right", "wrong"),
    [
        ("ssn", "111-11-1111", "111111111"),
        ("ipv4", "::ffff:1.2.3.4", "::1"),
        ("mac", "0123456789ab", "0123456789a"),
        ("hostname", "a=b", "a_b"),
        ("hostname", "☃.example", "a.☃"),
    ],
)
def test_formats_are_as_wide_as_upstreams(format_: str, right: str, wrong: str) -> None:
    schema = {"type": "string", "format": format_}
    assert not problems(schema, right)
    assert problems(schema, wrong)


def test_the_alternative_that_fits_best_explains_the_failure() -> None:
    one = {"properties": {"k": {"enum": ["a"]}, "v": {"minimum": 10}}}
    other = {"properties": {"k": {"enum": ["b"]}}}
    schema = {
        "type": "object",
        "properties": {"k": {"type": "string"}, "v": {"type": "integer"}},
        "anyOf": [one, other],
    }
    assert problems(schema, {"k": "a", "v": 5}) == [
        '<nil>: Invalid value: "": "f" must validate at least one schema (anyOf)',
        "f.v: Invalid value: 5: f.v in body should be greater than or equal to 10",
    ]
    assert problems(schema, {"k": "b", "v": 5}) == []


def test_too_many_alternatives_of_one_of_are_counted() -> None:
    schema = {"type": "string", "oneOf": [{"minLength": 1}, {"maxLength": 3}]}
    assert problems(schema, "ab") == [
        '<nil>: Invalid value: "": "f" must validate one and only one schema (oneOf). Found 2 valid alternatives'
    ]


def test_what_did_not_change_is_not_held_against_an_update() -> None:
    schema = {"type": "object", "properties": {"a": {"type": "string", "maxLength": 1}, "b": {"type": "string"}}}
    assert problems(schema, {"a": "long", "b": "2"}, old={"a": "long", "b": "1"}) == []
    assert problems(schema, {"a": "longer"}, old={"a": "long"}) == ["f.a: Too long: may not be more than 1 bytes"]


def test_items_of_a_map_are_told_from_each_other_by_their_keys_only() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string"}, "v": {"type": "string", "maxLength": 1}}}
    plain = {"type": "array", "items": item}
    keyed = {**plain, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    old, new = [{"k": "a", "v": "long"}], [{"k": "b"}, {"k": "a", "v": "long"}]
    assert problems(keyed, new, old=old) == []
    assert problems(plain, new, old=old) == ["f[1].v: Too long: may not be more than 1 bytes"]


def test_an_expression_that_could_take_forever_takes_no_time() -> None:
    found = problems({"type": "string", "pattern": "^(a+)+$"}, "a" * 5000 + "!")
    assert found[0].endswith("should match '^(a+)+$'")


def test_elements_of_sets_and_keys_of_maps_stand_once() -> None:
    item = {"type": "object", "properties": {"k": {"type": "string"}, "p": {"type": "string"}}}
    node = Structural(
        {
            "type": "object",
            "properties": {
                "s": {"type": "array", "items": {"type": "integer"}, "x-kubernetes-list-type": "set"},
                "m": {
                    "type": "array",
                    "items": item,
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["p", "k"],
                },
            },
        }
    )
    value = {"s": [1, True, 1, 1], "m": [{"k": "a", "p": "1"}, {"k": "a"}, {"k": "a", "p": "1"}]}
    assert [str(e) for e in duplicates(node, value)] == [
        "s[2]: Duplicate value: 1",
        'm[2]: Duplicate value: {"k":"a","p":"1"}',
    ]


def test_the_type_of_a_custom_resource_has_no_name_and_typed_metadata() -> None:
    node = Structural({"type": "object", "properties": {"spec": {"type": "object", "x-kubernetes-map-type": "atomic"}}})
    found = object_type(node)
    assert found.name == ""
    assert found.fields["metadata"].type.name.endswith(".ObjectMeta")
    assert found.fields["spec"].type.topology == "atomic"
