"""Apply on lists: by key, by value, as one; their order; keys with defaults; null."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.patch.apply.apply import Applier, apply
from kapi.patch.errors import ApplyConflict
from kapi.schema.types import Type

PORT = {"containerPort": "integer", "protocol": ("string", "TCP"), "name": "string"}
SPEC = {
    "items": ["map", {"name": "string", "v": "string", "w": "string"}, "name"],
    "ports": ["map", PORT, "containerPort", "protocol"],
    "tags": ["set", "string"],
    "args": ["atomic", "string"],
    "one": {"#": "atomic", "a": "string", "b": "string"},
    "map": {"*": {"x": "string", "y": "string"}},
    "free": "any",
}


class Stored:
    """A custom object as the server keeps it."""

    def __init__(self, type: Type) -> None:
        self.type = type
        self.live: Any = None

    def apply(self, manager: str, spec: Any, *, force: bool = False) -> Any:
        body = {"apiVersion": "e/v1", "kind": "E", "metadata": {"name": "e"}, "spec": spec}
        by = Applier(manager=manager, api_version="e/v1", kind="E", now="2026-01-01T00:00:00Z", force=force)
        self.live = apply(self.live, body, self.type, by)
        return self.live["spec"]

    def owned(self, manager: str) -> Any:
        return next(
            (e["fieldsV1"].get("f:spec") for e in self.live["metadata"]["managedFields"] if e["manager"] == manager),
            None,
        )


@pytest.fixture
def stored(make_type: Any) -> Stored:
    return Stored(make_type({"apiVersion": "string", "kind": "string", "metadata": {"name": "string"}, "spec": SPEC}))


def items(*names: str, **more: str) -> list[dict[str, str]]:
    return [{"name": name, **more} for name in names]


@pytest.mark.parametrize(
    ("live", "applied", "wanted"),
    [
        ("ab", "c", "abc"),
        ("abc", "ca", "bca"),
        ("abc", "cb", "acb"),
        ("abc", "xb", "axbc"),
        ("abc", "bx", "abcx"),
        ("abcd", "dcba", "dcba"),
        ("", "ba", "ba"),
        ("ab", "", "ab"),
    ],
)
def test_the_configurations_order_is_kept_and_others_stay_in_place(
    stored: Stored, live: str, applied: str, wanted: str
) -> None:
    stored.apply("m1", {"items": items(*live)})
    found = stored.apply("m2", {"items": items(*applied)})["items"]
    assert "".join(item["name"] for item in found) == wanted


names = st.lists(st.sampled_from("abcdef"), unique=True, max_size=6)


@given(names, names)
def test_merged_lists_lose_and_double_nothing(live: list[str], applied: list[str]) -> None:
    type = _set_type()
    by = Applier(manager="m1", api_version="e/v1", kind="E", now="", force=True)
    first = apply(None, _tagged(live), type, by)
    found = apply(first, _tagged(applied), type, Applier(manager="m2", api_version="e/v1", kind="E", now=""))["tags"]
    assert sorted(found or []) == sorted({*live, *applied})
    assert [tag for tag in found or [] if tag in applied] == applied
    others = [tag for tag in live if tag not in applied]
    assert [tag for tag in found or [] if tag not in applied] == others


def _tagged(tags: list[str]) -> Any:
    return {"apiVersion": "e/v1", "kind": "E", "metadata": {"name": "e"}, "tags": tags}


def _set_type() -> Type:
    from kapi.schema.types import Field

    tags = Type("list", topology="set", element=lambda: Type("string"))
    known = {"apiVersion": Type("string"), "kind": Type("string"), "metadata": Type("any"), "tags": tags}
    return Type("object", fields={name: Field(name, lambda t=t: t) for name, t in known.items()})  # type: ignore[misc]


def test_elements_are_owned_by_their_keys(stored: Stored) -> None:
    stored.apply("m1", {"items": [{"name": "a", "v": "1"}]})
    stored.apply("m2", {"items": [{"name": "a", "w": "2"}, {"name": "b"}]})
    assert stored.live["spec"]["items"] == [{"name": "a", "v": "1", "w": "2"}, {"name": "b"}]
    assert stored.owned("m2") == {
        "f:items": {'k:{"name":"a"}': {".": {}, "f:name": {}, "f:w": {}}, 'k:{"name":"b"}': {".": {}, "f:name": {}}}
    }
    assert stored.apply("m1", {})["items"] == [{"name": "a", "w": "2"}, {"name": "b"}]
    assert not (stored.apply("m2", {}) or {}).get("items")


def test_what_hangs_below_an_element_without_an_owner_goes_and_stays_with_it(stored: Stored) -> None:
    stored.apply("m1", {"items": items("a", "b")})
    stored.live["spec"]["items"][0]["w"] = "default"
    stored.apply("m1", {"items": items("b", "a", v="1")})
    assert stored.live["spec"]["items"][1] == {"name": "a", "v": "1", "w": "default"}
    assert stored.apply("m1", {"items": items("b")})["items"] == items("b")


def test_the_default_of_a_key_is_part_of_the_key(stored: Stored) -> None:
    stored.apply("m1", {"ports": [{"containerPort": 80}]})
    assert list(stored.owned("m1")["f:ports"]) == ['k:{"containerPort":80,"protocol":"TCP"}']
    stored.apply("m2", {"ports": [{"containerPort": 80, "protocol": "UDP"}, {"containerPort": 80, "protocol": "TCP"}]})
    assert stored.live["spec"]["ports"] == [
        {"containerPort": 80, "protocol": "UDP"},
        {"containerPort": 80, "protocol": "TCP"},
    ]


def test_keys_are_ordered_by_number(stored: Stored) -> None:
    stored.apply("m1", {"ports": [{"containerPort": 443}, {"containerPort": 80}]})
    assert [key[19:22] for key in stored.owned("m1")["f:ports"]] == ["80,", "443"]


def test_values_of_a_set_are_owned_one_by_one(stored: Stored) -> None:
    stored.apply("m1", {"tags": ["a", "b"]})
    stored.apply("m2", {"tags": ["b", "c"]})
    assert stored.apply("m1", {"tags": ["a"]})["tags"] == ["a", "b", "c"]
    assert stored.apply("m2", {"tags": []})["tags"] == ["a"]


@pytest.mark.parametrize(
    ("name", "first", "second"),
    [("args", ["a", "b"], ["a"]), ("one", {"a": "1", "b": "2"}, {"a": "1"}), ("free", [1, 2], [1])],
)
def test_atomic_values_are_owned_and_replaced_whole(stored: Stored, name: str, first: Any, second: Any) -> None:
    stored.apply("m1", {name: first})
    assert stored.owned("m1") == {f"f:{name}": {}}
    with pytest.raises(ApplyConflict, match=rf"conflict with \"m1\": .spec.{name}"):
        stored.apply("m2", {name: second})
    assert stored.apply("m2", {name: second}, force=True)[name] == second
    assert stored.owned("m1") is None


def test_members_of_a_map_are_owned_with_what_is_in_them(stored: Stored) -> None:
    stored.apply("m1", {"map": {"k": {"x": "1"}}})
    assert stored.owned("m1") == {"f:map": {"f:k": {".": {}, "f:x": {}}}}
    stored.apply("m2", {"map": {"k": {"y": "2"}}})
    assert stored.apply("m1", {})["map"] == {"k": {"y": "2"}}


def test_untyped_objects_merge_by_member(stored: Stored) -> None:
    stored.apply("m1", {"free": {"a": {"b": 1}}})
    stored.apply("m2", {"free": {"a": {"c": [1]}}})
    assert stored.live["spec"]["free"] == {"a": {"b": 1, "c": [1]}}
    assert stored.apply("m1", {})["free"] == {"a": {"c": [1]}}


def test_what_preserves_unknown_fields_does_so_all_the_way_down(make_type: Any) -> None:
    known = {"apiVersion": "string", "kind": "string", "metadata": {"name": "string"}, "spec": {"size": "integer"}}
    stored = Stored(make_type({"#": "open", **known}))
    stored.apply("m1", {"free": {"l": [1]}})
    assert stored.owned("m1") == {"f:free": {".": {}, "f:l": {}}}


def test_null_takes_nothing_away_from_an_object(stored: Stored) -> None:
    stored.apply("m1", {"map": {"k": {"x": "1"}}, "items": items("a")})
    spec = stored.apply("m2", {"map": None, "items": None})
    assert (spec["map"], spec["items"]) == ({"k": {"x": "1"}}, items("a"))
    assert stored.owned("m2") == {"f:items": {}, "f:map": {}}


def test_null_over_a_value_is_a_conflict(stored: Stored) -> None:
    stored.apply("m1", {"items": [{"name": "a", "v": "1"}]})
    with pytest.raises(ApplyConflict, match=r"items\[name=\"a\"\].v"):
        stored.apply("m2", {"items": [{"name": "a", "v": None}]})


def test_ownership_follows_a_list_that_became_atomic(stored: Stored, make_type: Any) -> None:
    stored.apply("m1", {"items": [{"name": "a", "v": "1"}]})
    atomic = {**SPEC, "items": ["atomic", {"name": "string", "v": "string", "w": "string"}]}
    stored.type = make_type({"apiVersion": "string", "kind": "string", "metadata": {"name": "string"}, "spec": atomic})
    with pytest.raises(ApplyConflict, match=r'conflict with "m1": \.spec\.items$'):
        stored.apply("m2", {"items": []})
    stored.apply("m2", {"args": ["x"]})
    assert stored.owned("m1") == {"f:items": {}}
