"""Merge patch: its rules and its algebra."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.patch import merge_patch
from kapi.patch.errors import BadPatch


@pytest.mark.parametrize(
    ("document", "patch", "wanted"),
    [
        ({"a": 1}, {"b": 2}, {"a": 1, "b": 2}),
        ({"a": 1}, {"a": None}, {}),
        ({"a": 1}, {"absent": None}, {"a": 1}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {"a": [1]}, {"a": [1]}),
        ({"a": [1]}, {"a": {"b": 1, "c": None}}, {"a": {"b": 1}}),
        ({"a": "x"}, {"a": {"b": {"c": None}}}, {"a": {"b": {}}}),
        ({"a": [1, 2]}, {"a": [3]}, {"a": [3]}),
        ({"a": [{"x": 1}]}, {"a": [{"y": None, "z": 1}]}, {"a": [{"z": 1}]}),
        ({"a": {"b": 1}}, {"a": [{"y": None}]}, {"a": [{"y": None}]}),
        ({}, {"a": {"b": {"c": None, "d": 1}}}, {"a": {"b": {"d": 1}}}),
        ({"a": None}, {"a": {"b": None}}, {"a": {}}),
    ],
)
def test_members_merge_and_null_removes(document: Any, patch: Any, wanted: Any) -> None:
    assert merge_patch.apply(document, patch) == wanted


@pytest.mark.parametrize("patch", [None, "x", 5, True])
def test_a_patch_must_be_an_object(patch: Any) -> None:
    with pytest.raises(BadPatch, match=r"^Invalid JSON Patch$"):
        merge_patch.apply({"a": 1}, patch)


def test_a_list_takes_the_documents_place() -> None:
    assert merge_patch.apply({"a": 1}, [{"b": None, "c": 1}]) == [{"c": 1}]


scalars = st.integers(0, 3) | st.text("xy", max_size=2) | st.booleans()
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)
objects = st.dictionaries(st.sampled_from("abc"), values, max_size=3)
patches = st.recursive(
    scalars | st.none(),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
).filter(lambda patch: isinstance(patch, dict))


def difference(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """The patch from one object to another, by definition."""
    patch: dict[str, Any] = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if inner := difference(before, value):
                patch[key] = inner
        elif key not in old or repr(before) != repr(value):
            patch[key] = value
    return patch


@given(objects)
def test_applying_nothing_changes_nothing(document: Any) -> None:
    assert merge_patch.apply(document, {}) == document


@given(objects, objects)
def test_the_difference_of_two_objects_leads_from_one_to_the_other(old: Any, new: Any) -> None:
    assert repr(sorted_all(merge_patch.apply(old, difference(old, new)))) == repr(sorted_all(new))


@given(objects, patches)
def test_applying_twice_is_applying_once(document: Any, patch: Any) -> None:
    once = merge_patch.apply(document, patch)
    assert merge_patch.apply(once, patch) == once


@given(objects, patches)
def test_neither_argument_is_touched_or_shared(document: Any, patch: Any) -> None:
    before = repr((document, patch))
    result = merge_patch.apply(document, patch)
    scribble(result)
    assert repr((document, patch)) == before


def sorted_all(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: sorted_all(value[key]) for key in sorted(value)}
    return [sorted_all(item) for item in value] if isinstance(value, list) else value


def scribble(value: Any) -> None:
    if isinstance(value, dict):
        for item in value.values():
            scribble(item)
        value["scribbled"] = True
    elif isinstance(value, list):
        for item in value:
            scribble(item)
        value.append("scribbled")
