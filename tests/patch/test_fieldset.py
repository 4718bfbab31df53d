"""Sets of fields: their algebra against plain sets of paths, their canonical form, how paths are printed."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.patch.apply import fieldset
from kapi.patch.apply.fieldset import Fields

Path = tuple[str, ...]

elements = st.sampled_from(
    ["f:a", "f:b", "f:spec", 'k:{"name":"x"}', 'k:{"port":80}', 'k:{"port":443}', 'v:"x"', "v:9", "v:10", "i:2", "i:10"]
)
path_sets = st.frozensets(st.lists(elements, min_size=1, max_size=3).map(tuple), max_size=8)


def built(paths: Iterable[Path]) -> Fields:
    """A set from its paths, one by one."""
    fields: Fields = {}
    for path in paths:
        tree: Fields = {}
        for element in reversed(path):
            tree = {element: tree}
        fields = fieldset.union(fields, tree)
    return fields


def paths_of(fields: Fields) -> set[Path]:
    return set(fieldset.paths(fields))


@given(path_sets)
def test_a_set_holds_the_paths_it_was_built_from(paths: frozenset[Path]) -> None:
    fields = built(paths)
    assert paths_of(fields) == paths
    assert all(fieldset.has(fields, path) for path in paths)
    assert not fieldset.has(fields, ())


@given(path_sets)
def test_building_in_any_order_gives_the_same_text(paths: frozenset[Path]) -> None:
    assert repr(built(paths)) == repr(built(sorted(paths))) == repr(built(sorted(paths, reverse=True)))


@given(path_sets)
def test_a_set_survives_being_written_and_parsed(paths: frozenset[Path]) -> None:
    fields = built(paths)
    assert repr(fieldset.parse(shuffled(fields))) == repr(fields)


def shuffled(node: Any) -> Any:
    return {key: shuffled(node[key]) for key in reversed(list(node))}


@given(path_sets, path_sets)
def test_union_and_intersection_are_those_of_the_paths(left: frozenset[Path], right: frozenset[Path]) -> None:
    assert paths_of(fieldset.union(built(left), built(right))) == left | right
    assert paths_of(fieldset.intersection(built(left), built(right))) == left & right


@given(path_sets, path_sets)
def test_difference_is_that_of_the_paths(left: frozenset[Path], right: frozenset[Path]) -> None:
    assert paths_of(fieldset.difference(built(left), built(right))) == left - right


@given(path_sets, path_sets)
def test_recursive_difference_takes_everything_below_as_well(left: frozenset[Path], right: frozenset[Path]) -> None:
    wanted = {path for path in left if not any(path[: len(other)] == other for other in right)}
    assert paths_of(fieldset.without(built(left), built(right))) == wanted


@given(path_sets, path_sets)
def test_a_changed_leaf_takes_what_is_owned_below_it(owned: frozenset[Path], changed: frozenset[Path]) -> None:
    tips = {path for path in changed if not any(other[: len(path)] == path != other for other in changed)}
    wanted = {path for path in owned - changed if not any(path[: len(tip)] == tip for tip in tips)}
    assert paths_of(fieldset.after_change(built(owned), built(changed))) == wanted


@given(path_sets, path_sets)
def test_results_are_canonical(left: frozenset[Path], right: frozenset[Path]) -> None:
    for operation in (fieldset.union, fieldset.difference, fieldset.intersection, fieldset.without):
        result = operation(built(left), built(right))
        assert repr(result) == repr(built(paths_of(result)))


@given(path_sets)
def test_what_changes_nothing_returns_the_set_itself(paths: frozenset[Path]) -> None:
    fields = built(paths)
    assert fieldset.union(fields, built(paths)) is fields
    assert fieldset.difference(fields, {}) is fields
    assert fieldset.difference(fields, {"f:other": {}}) is fields


@given(path_sets, elements)
def test_within_gives_the_paths_below_an_element(paths: frozenset[Path], element: str) -> None:
    below = {path[1:] for path in paths if path[0] == element and len(path) > 1}
    assert paths_of(fieldset.within(built(paths), element)) == below


def test_elements_are_listed_by_kind_and_by_value() -> None:
    fields = built(
        frozenset((element,) for element in ("i:10", "i:2", "v:10", "v:9", 'k:{"p":443}', 'k:{"p":80}', "f:z"))
    )
    assert list(fields) == ["f:z", 'k:{"p":80}', 'k:{"p":443}', "v:9", "v:10", "i:2", "i:10"]


def test_names_that_differ_after_a_quote_are_ordered_by_their_value() -> None:
    fields = built(frozenset([('k:{"name":"a b"}',), ('k:{"name":"a"}',)]))
    assert list(fields) == ['k:{"name":"a"}', 'k:{"name":"a b"}']


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ({'k:{"b":1, "a":"x"}': {}}, {'k:{"a":"x","b":1}': {}}),
        ({"v: true": {}}, {"v:true": {}}),
        ({"f:a": {".": {}}}, {"f:a": {}}),
        ({".": {}, "f:a": {}}, {"f:a": {}}),
        ({"x:future": {}, "f:a": None}, {"f:a": {}}),
        ({'v:"\\u003c"': {}}, {'v:"\\u003c"': {}}),
        (None, {}),
    ],
)
def test_what_a_client_wrote_is_made_canonical(written: Any, canonical: Any) -> None:
    assert fieldset.parse(written) == canonical


@pytest.mark.parametrize(
    "written", [[], "x", {"f": {}}, {"fa": {}}, {"k:x": {}}, {"k:[]": {}}, {"i:x": {}}, {"f:a": 1}]
)
def test_what_is_no_set_is_refused(written: Any) -> None:
    with pytest.raises(ValueError):
        fieldset.parse(written)


def test_paths_are_printed_as_messages_show_them() -> None:
    path = ("f:spec", "f:containers", 'k:{"name":"x\\"y","port":80}', "f:args", 'v:"z"', "i:3")
    assert fieldset.path_text(path) == '.spec.containers[name="x\\"y",port=80].args[="z"][3]'
    assert fieldset.path_text(('k:{"name":["x",{"a":1}]}',)) == '[name=["x",a=1]]'


def test_a_filter_excludes_fields_and_all_below() -> None:
    keep = fieldset.excluding("status", "metadata.labels")
    fields = {"f:metadata": {"f:labels": {".": {}, "f:a": {}}, "f:x": {}}, "f:spec": {}, "f:status": {"f:phase": {}}}
    assert keep(fields) == {"f:metadata": {"f:x": {}}, "f:spec": {}}
    assert keep({}) == {}


def test_a_filter_includes_what_matches_a_pattern() -> None:
    keep = fieldset.including(("f:spec", "f:containers", "*", "f:resources"))
    item = {".": {}, "f:image": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}
    fields = {"f:spec": {"f:containers": {'k:{"name":"a"}': item}, "f:nodeName": {}}, "f:status": {}}
    kept = {".": {}, "f:resources": {"f:limits": {"f:cpu": {}}}}
    assert keep(fields) == {"f:spec": {"f:containers": {'k:{"name":"a"}': kept}}}
    assert keep({"f:status": {}}) == {}
