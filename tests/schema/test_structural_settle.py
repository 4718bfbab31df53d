"""Settling custom resources: what goes, what stays, what comes."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.schema.structural import Structural
from kapi.schema.structural_check import validate
from kapi.schema.structural_settle import Malformed, apply_defaults, normalize, settle


def root(**properties: Any) -> Structural:
    return Structural({"type": "object", "properties": {"spec": {"type": "object", "properties": properties}}})


def settled(node: Structural, spec: Any, **more: Any) -> tuple[Any, list[str]]:
    obj = {"apiVersion": "g/v1", "kind": "Foo", "metadata": {"name": "x"}, "spec": spec, **more}
    unknown = settle(node, obj)
    apply_defaults(node, obj)
    return obj.get("spec"), unknown


def test_unknown_fields_go_and_are_named_in_order() -> None:
    node = root(a={"type": "string"}, l={"type": "array", "items": {"type": "object", "properties": {}}})
    spec, unknown = settled(node, {"z": 1, "a": "x", "l": [{"q": 1}]}, top=1)
    assert spec == {"a": "x", "l": [{}]}
    assert unknown == ["spec.l[0].q", "spec.z", "top"]


def test_what_preserves_unknown_fields_still_prunes_what_it_names() -> None:
    inner = {"type": "object", "properties": {"k": {"type": "string"}}}
    node = root(free={"type": "object", "x-kubernetes-preserve-unknown-fields": True, "properties": {"known": inner}})
    spec, unknown = settled(node, {"free": {"any": {"thing": 1}, "known": {"k": "v", "no": 1}}})
    assert spec == {"free": {"any": {"thing": 1}, "known": {"k": "v"}}}
    assert unknown == ["spec.free.known.no"]


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        ({"type": "string"}, {}),
        ({"type": "string", "nullable": True}, {"f": None}),
        ({"type": "string", "default": "d"}, {"f": "d"}),
        ({"type": "string", "default": "d", "nullable": True}, {"f": None}),
    ],
)
def test_a_null_goes_stays_or_becomes_the_default(schema: Any, expected: Any) -> None:
    assert settled(root(f=schema), {"f": None}) == (expected, [])


def test_defaults_are_written_into_defaults_and_are_not_shared() -> None:
    inner = {"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 1}}}
    node = root(o=inner)
    first, _ = settled(node, {})
    assert first == {"o": {"n": 1}}
    first["o"]["n"] = 2
    assert settled(node, {})[0] == {"o": {"n": 1}}


def test_malformed_metadata_is_refused_and_forgiven_to_what_is_stored() -> None:
    node = root()
    obj = {"apiVersion": "g/v1", "kind": "Foo", "metadata": {"name": "x", "labels": {"a": 1}}}
    with pytest.raises(Malformed, match=r"cannot unmarshal number into Go struct field ObjectMeta\.labels"):
        settle(node, copy.deepcopy(obj))
    settle(node, obj, forgiving=True)
    assert obj["metadata"] == {"name": "x"}


def test_metadata_of_an_embedded_resource_is_pruned_too() -> None:
    node = root(
        e={"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
    )
    spec, unknown = settled(node, {"e": {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "n", "zz": 1}}})
    assert spec["e"]["metadata"] == {"name": "n"}
    assert unknown == ["spec.e.metadata.zz"]
    with pytest.raises(Malformed, match=r"spec\.e\.kind: Invalid value: 1: must be a string"):
        settled(node, {"e": {"apiVersion": "v1", "kind": 1}})


def test_numbers_take_the_form_in_which_go_holds_them() -> None:
    assert normalize({"a": 1.0, "b": [1e3, 1.5], "c": 1 << 70, "d": True}) == {
        "a": 1,
        "b": [1000, 1.5],
        "c": float(1 << 70),
        "d": True,
    }


LEAVES = st.sampled_from(
    [
        {"type": "string"},
        {"type": "integer", "default": 3},
        {"type": "boolean"},
        {"type": "string", "nullable": True},
        {"x-kubernetes-preserve-unknown-fields": True},
    ]
)
NAMES = st.sampled_from("abcd")
SCHEMAS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.dictionaries(NAMES, inner, min_size=1).map(lambda p: {"type": "object", "properties": p}),
        st.dictionaries(NAMES, inner, min_size=1).map(lambda p: {"type": "object", "default": {}, "properties": p}),
        inner.map(lambda i: {"type": "array", "items": i}),
        inner.map(lambda i: {"type": "object", "additionalProperties": i}),
    ),
    max_leaves=8,
)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-5, 5) | st.text("xy", max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=10,
)


@given(SCHEMAS, VALUES)
def test_settling_twice_changes_nothing_more(schema: Any, value: Any) -> None:
    node = root(f=schema)
    obj = {"metadata": {}, "spec": {"f": value}}
    settle(node, obj)
    apply_defaults(node, obj)
    once = copy.deepcopy(obj)
    assert settle(node, obj) == []
    apply_defaults(node, obj)
    assert obj == once


@given(SCHEMAS, VALUES)
def test_pruning_takes_nothing_that_validation_looks_at(schema: Any, value: Any) -> None:
    node = root(f=schema)
    pruned = {"metadata": {}, "spec": {"f": copy.deepcopy(value)}}
    settle(node, pruned)
    again = copy.deepcopy(pruned)
    settle(node, again)
    assert [str(e) for e in validate(node, pruned)] == [str(e) for e in validate(node, again)]
