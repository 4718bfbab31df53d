"""Strategic merge: lists by key and by value, directives, order, errors."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.patch import strategic_merge
from kapi.patch.errors import StrategicMergeError
from kapi.schema.loader import type_of
from kapi.schema.types import Type


def workload(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "d"}, "spec": {"template": {"spec": spec}}}


def patched(type: Type, before: dict[str, Any], patch: dict[str, Any]) -> dict[str, Any]:
    result = strategic_merge.apply(workload(**before), workload(**patch), type)
    return result["spec"]["template"]["spec"]  # type: ignore[no-any-return]


A, B, C = ({"name": name, "image": "i"} for name in "abc")


@pytest.mark.parametrize(
    ("before", "patch", "wanted"),
    [
        ([A, B], [{"name": "a", "image": "j"}], [{"name": "a", "image": "j"}, B]),
        ([A, B], [C], [C, A, B]),
        ([A, B], [{"name": "b", "image": None}], [A, {"name": "b"}]),
        ([A, B], [{"name": "b", "$patch": "delete"}], [A]),
        ([A, B], [{"name": "x", "$patch": "delete"}], [A, B]),
        ([A, B], [{"$patch": "replace"}, C], [C]),
        ([A, B], [{"$patch": "replace"}], []),
        ([A, B], [], [A, B]),
        ([A, B, C], [C, A], [B, C, A]),
        ([A], [{"name": "a", "$patch": "delete"}, B], [B]),
        ([A], [{"name": "a", "$patch": "replace", "args": ["x"]}], []),
    ],
)
def test_lists_of_objects_merge_by_their_key(deployment: Type, before: Any, patch: Any, wanted: Any) -> None:
    assert patched(deployment, {"containers": before}, {"containers": patch})["containers"] == wanted


def test_nested_lists_merge_and_atomic_lists_are_replaced(deployment: Type) -> None:
    before = [{"name": "a", "args": ["1"], "env": [{"name": "A", "value": "1"}], "ports": [{"containerPort": 80}]}]
    patch = [
        {
            "name": "a",
            "args": ["2"],
            "env": [{"name": "B", "value": "2"}],
            "ports": [{"containerPort": 80, "name": "web"}],
        }
    ]
    (container,) = patched(deployment, {"containers": before}, {"containers": patch})["containers"]
    assert container["args"] == ["2"]
    assert container["env"] == [{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]
    assert container["ports"] == [{"containerPort": 80, "name": "web"}]


@pytest.mark.parametrize(
    ("before", "patch", "wanted"),
    [
        (["1"], {"finalizers": ["2", "1"]}, ["2", "1"]),
        (["1", "2"], {"finalizers": ["3"]}, ["3", "1", "2"]),
        (["1", "2"], {"$deleteFromPrimitiveList/finalizers": ["1", "9"]}, ["2"]),
        (["2"], {"$setElementOrder/finalizers": ["3", "2"], "finalizers": ["3"]}, ["3", "2"]),
        (["1", "2"], {"$setElementOrder/finalizers": ["2", "1"]}, ["2", "1"]),
        (["1", "2"], {"$deleteFromPrimitiveList/finalizers": "x"}, ["1", "2"]),
        (["1", "2"], {"$deleteFromPrimitiveList/finalizers": None}, None),
        (["1"], {"finalizers": None}, None),
        (None, {"$deleteFromPrimitiveList/finalizers": ["1"]}, None),
        (None, {"$setElementOrder/finalizers": ["1"]}, None),
        (None, {"finalizers": [{"$patch": "replace"}]}, []),
    ],
)
def test_lists_of_values_merge_as_sets(config_map: Type, before: Any, patch: Any, wanted: Any) -> None:
    document = {"metadata": {"name": "c"} | ({"finalizers": before} if before else {})}
    result = strategic_merge.apply(document, {"metadata": patch}, config_map)
    assert result["metadata"].get("finalizers") == wanted


@pytest.mark.parametrize(
    ("before", "patch", "wanted"),
    [
        ({"a": "1", "b": "2"}, {"c": "3", "a": None}, {"b": "2", "c": "3"}),
        ({"a": "1"}, {"$patch": "replace", "only": "me"}, {"only": "me"}),
        ({"a": "1"}, {"$patch": "delete"}, {}),
        ({"a": "1", "b": "2"}, {"$retainKeys": ["a"]}, {"a": "1"}),
        ({"a": "1", "b": "2"}, {"$retainKeys": ["a", "c"], "c": "3"}, {"a": "1", "c": "3"}),
        (None, {"$patch": "bogus"}, None),
        (None, {"x": {"y": None}}, {"x": {}}),
    ],
)
def test_directives_on_an_object(config_map: Type, before: Any, patch: Any, wanted: Any) -> None:
    document = {"data": before} if before else {}
    assert strategic_merge.apply(document, {"data": patch}, config_map).get("data") == wanted


def test_a_union_follows_retain_keys(deployment: Type) -> None:
    document = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}}
    patch = {"spec": {"strategy": {"$retainKeys": ["type"], "type": "Recreate"}}}
    assert strategic_merge.apply(document, patch, deployment)["spec"]["strategy"] == {"type": "Recreate"}


def test_an_element_order_reorders_and_adds(deployment: Type) -> None:
    order = [{"name": "c"}, {"name": "n"}, {"name": "a"}]
    patch = {"$setElementOrder/containers": order, "containers": [{"name": "n", "image": "x"}]}
    result = patched(deployment, {"containers": [A, B, C]}, patch)["containers"]
    assert [item["name"] for item in result] == ["b", "c", "n", "a"]
    assert result[2] == {"name": "n", "image": "x"}


def test_a_replaced_field_takes_the_whole_patch() -> None:
    budget = type_of("policy", "v1", "PodDisruptionBudget")
    document = {"spec": {"selector": {"matchLabels": {"a": "1"}}}}
    patch = {"spec": {"selector": {"matchLabels": {"b": "2"}}}}
    assert strategic_merge.apply(document, patch, budget) == patch


@pytest.mark.parametrize(
    ("patch", "code", "message"),
    [
        ({"containers": [{"image": "j"}]}, 500, "map: map[image:j] does not contain declared merge key: name"),
        (
            {"containers": [{"$patch": "delete"}]},
            500,
            "map: map[$patch:delete] does not contain declared merge key: name",
        ),
        (
            {"containers": [{"name": "a", "$patch": "odd"}]},
            500,
            "unknown patch type: odd in map: map[$patch:odd name:a]",
        ),
        ({"containers": [{"$patch": None}]}, 500, "unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]"),
        ({"$patch": True}, 500, "unknown patch type: %!s(bool=true) in map: map[$patch:true]"),
        ({"$setElementOrder/containers": None}, 500, "expected a []interface {}, but received a %!s(<nil>)"),
        ({"$setElementOrder/containers": [{"name": "z"}, None]}, 500, "value for key 1 is not a map"),
        ({"containers": [{"$patch": "merge"}]}, 500, "merging lists cannot yet be specified in the patch"),
        ({"containers": [["x"]]}, 500, "list element types are not identical: [[map[image:i name:a]] [[x]]]"),
        ({"$patch": "merge"}, 500, "unknown patch type: merge in map: map[$patch:merge]"),
        ({"$patch": 5}, 500, "unknown patch type: %!s(int64=5) in map: map[$patch:5]"),
        ({"$patch": None}, 500, "unknown patch type: %!s(<nil>) in map: map[$patch:<nil>]"),
        ({"$retainKeys": "x"}, 400, "invalid patch format of retainKeys"),
        ({"$retainKeys": ["x"], "containers": []}, 400, "invalid patch format of retainKeys"),
        ({"$setElementOrder/containers": "x"}, 500, "expected a []interface {}, but received a string"),
        (
            {"$setElementOrder/containers": [{"name": "c"}], "containers": None},
            500,
            "expected a []interface {}, but received a %!s(<nil>)",
        ),
        ({"$setElementOrder/containers": [{"name": "c"}, []]}, 500, "value for key 1 is not a map"),
        ({"$setElementOrderX": ["x"]}, 400, "invalid patch format of setElementOrder list"),
        ({"$deleteFromPrimitiveList": ["x"]}, 400, "invalid patch format of primitive list"),
        (
            {"$setElementOrder/containers": [{"name": "c"}], "containers": [{"name": "z"}]},
            500,
            "The order in patch list:\n[map[name:z]]\n doesn't match $setElementOrder list:\n[map[name:c]]\n",
        ),
        (
            {"$setElementOrder/odd": []},
            500,
            'unable to find api field in struct PodSpec for the json field "odd"',
        ),
    ],
)
def test_what_contradicts_the_type_is_refused(deployment: Type, patch: Any, code: int, message: str) -> None:
    with pytest.raises(StrategicMergeError) as refused:
        patched(deployment, {"containers": [A]}, patch)
    assert (refused.value.code, refused.value.message) == (code, message)


names = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)
DEPLOYMENT = type_of("apps", "v1", "Deployment")


@given(names, names)
def test_a_merged_list_keeps_both_orders(server: list[str], patch: list[str]) -> None:
    """Elements of the patch in the patch's order, the server's own in the server's, and nothing lost or doubled."""
    result = patched(
        DEPLOYMENT,
        {"containers": [{"name": name, "image": "old"} for name in server]},
        {"containers": [{"name": name, "image": "new"} for name in patch]},
    )["containers"]
    found = [item["name"] for item in result]
    assert sorted(found) == sorted({*server, *patch})
    assert [name for name in found if name in patch] == patch
    assert [name for name in found if name not in patch] == [name for name in server if name not in patch]
    assert all(item["image"] == ("new" if item["name"] in patch else "old") for item in result)


@given(names, names)
def test_an_element_order_is_followed(server: list[str], order: list[str]) -> None:
    before = {"containers": [{"name": name, "image": "i"} for name in server]}
    if not server:
        return
    patch = {"$setElementOrder/containers": [{"name": name} for name in order]}
    found = [item["name"] for item in patched(DEPLOYMENT, before, patch)["containers"]]
    assert sorted(found) == sorted(server)
    assert [name for name in found if name in order] == [name for name in order if name in server]


@given(names)
def test_applying_nothing_changes_nothing(server: list[str]) -> None:
    document = workload(containers=[{"name": name, "image": "i"} for name in server])
    assert strategic_merge.apply(document, {}, DEPLOYMENT) == document
    assert strategic_merge.apply(document, None, DEPLOYMENT) == document
