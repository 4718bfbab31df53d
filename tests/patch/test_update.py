"""Managers after creates, updates and patches: who changes a field owns it."""

from __future__ import annotations

from typing import Any

import pytest

from kapi.patch.apply import managed
from kapi.patch.apply.fieldset import excluding
from kapi.patch.apply.update import track_update
from kapi.patch.values import copied
from kapi.schema.types import Type

EARLIER, NOW = "2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"


def tracked(live: Any, new: Any, type: Type, manager: str = "me", **options: Any) -> Any:
    """The new object after the write, as it would be read back."""
    new = copied(new)
    options = {"api_version": "v1", "now": NOW} | options
    track_update(live, new, type, manager=manager, **options)
    new["metadata"].setdefault("uid", "1")
    return new


def owners(obj: Any) -> dict[str, Any]:
    return {entry["manager"]: entry["fieldsV1"] for entry in obj["metadata"].get("managedFields", [])}


def config(data: Any = None, **metadata: Any) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", **metadata}} | (
        {"data": data} if data is not None else {}
    )


def event(data: Any) -> Any:
    """Of a kind that there is in two groups."""
    return config(data) | {"kind": "Event"}


def test_the_creator_owns_all_but_what_the_server_sets(config_map: Type) -> None:
    created = tracked(
        None, config({"b": "2", "a": "1"}, labels={"l": "1"}, finalizers=["x/1"], namespace="n"), config_map
    )
    (entry,) = created["metadata"]["managedFields"]
    assert list(entry) == ["manager", "operation", "apiVersion", "time", "fieldsType", "fieldsV1"]
    assert (entry["operation"], entry["apiVersion"], entry["time"]) == ("Update", "v1", NOW)
    assert repr(entry["fieldsV1"]) == repr(
        {
            "f:data": {".": {}, "f:a": {}, "f:b": {}},
            "f:metadata": {"f:finalizers": {".": {}, 'v:"x/1"': {}}, "f:labels": {".": {}, "f:l": {}}},
        }
    )


def test_an_object_with_nothing_of_its_own_has_no_managers(config_map: Type) -> None:
    assert owners(tracked(None, config(), config_map)) == {}


def test_members_that_every_object_of_a_type_has_belong_to_nobody(deployment: Type) -> None:
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "a"}},
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%"}},
        "template": {
            "metadata": {"labels": {"app": "a"}},
            "spec": {"containers": [{"name": "c", "image": "i", "resources": {}, "ports": [{"containerPort": 80}]}]},
        },
    }
    new = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec, "status": {}}
    port = {".": {}, "f:containerPort": {}}
    container = {
        ".": {},
        "f:image": {},
        "f:name": {},
        "f:ports": {".": {}, 'k:{"containerPort":80,"protocol":"TCP"}': port},
        "f:resources": {},
    }
    assert owners(tracked(None, new, deployment, api_version="apps/v1"))["me"] == {
        "f:spec": {
            "f:replicas": {},
            "f:selector": {},
            "f:strategy": {"f:rollingUpdate": {".": {}, "f:maxSurge": {}}, "f:type": {}},
            "f:template": {
                "f:metadata": {"f:labels": {".": {}, "f:app": {}}},
                "f:spec": {"f:containers": {'k:{"name":"c"}': container}},
            },
        }
    }


def test_every_member_of_a_custom_resource_belongs_to_its_creator(make_type: Any) -> None:
    custom = make_type({"metadata": {"labels": {"*": "string"}}, "spec": {"size": "integer", "free": "any"}})
    new = {"metadata": {"name": "x"}, "spec": {"size": 1, "free": {"a": [1], "b": {"c": 1}}}}
    assert owners(tracked(None, new, custom))["me"] == {
        "f:spec": {".": {}, "f:free": {".": {}, "f:a": {}, "f:b": {".": {}, "f:c": {}}}, "f:size": {}}
    }


def test_who_changes_a_field_takes_it_from_its_owner(config_map: Type) -> None:
    live = tracked(None, config({"a": "1", "b": "2"}), config_map, "first", now=EARLIER)
    new = tracked(live, config({"a": "9", "b": "2", "c": "3"}), config_map, "second")
    assert owners(new) == {"first": {"f:data": {".": {}, "f:b": {}}}, "second": {"f:data": {"f:a": {}, "f:c": {}}}}
    assert [entry["time"] for entry in new["metadata"]["managedFields"]] == [EARLIER, NOW]


def test_a_removed_field_leaves_all_its_owners(config_map: Type) -> None:
    live = tracked(None, config({"a": "1", "b": "2"}), config_map, "first", now=EARLIER)
    new = tracked(live, config({"a": "1"}), config_map, "second")
    assert owners(new) == {"first": {"f:data": {".": {}, "f:a": {}}}}
    assert new["metadata"]["managedFields"][0]["time"] == EARLIER


def test_a_manager_that_owns_nothing_any_more_is_gone(config_map: Type) -> None:
    live = tracked(None, config({"a": "1"}), config_map, "first")
    assert owners(tracked(live, config(labels={"x": "y"}), config_map, "second")) == {
        "second": {"f:metadata": {"f:labels": {".": {}, "f:x": {}}}}
    }


def test_a_write_that_changes_nothing_keeps_entries_and_times(config_map: Type) -> None:
    live = tracked(None, config({"a": "1"}), config_map, "first", now=EARLIER)
    again = tracked(live, config({"a": "1"}), config_map, "second")
    assert again["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_server_set_metadata_changes_no_owner(config_map: Type) -> None:
    live = tracked(None, config({"a": "1"}), config_map, "first", now=EARLIER)
    new = config({"a": "1"}, resourceVersion="7", generation=4, creationTimestamp=NOW, selfLink="/x")
    assert tracked(live, new, config_map, "second")["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_an_unnamed_manager_is_unknown(config_map: Type) -> None:
    assert list(owners(tracked(None, config({"a": "1"}), config_map, ""))) == ["unknown"]


def test_a_subresource_is_a_manager_of_its_own(pod: Type) -> None:
    new = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {"nodeName": "n"}}
    live = tracked(None, new | {"status": {}}, pod, reset=excluding("status"))
    with_status = copied(live) | {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    entries = tracked(live, with_status, pod, subresource="status")["metadata"]["managedFields"]
    assert [(entry["manager"], entry.get("subresource")) for entry in entries] == [("me", None), ("me", "status")]
    condition = {".": {}, "f:status": {}, "f:type": {}}
    assert entries[1]["fieldsV1"] == {
        "f:status": {"f:conditions": {".": {}, 'k:{"type":"Ready"}': condition}, "f:phase": {}}
    }


def test_what_an_endpoint_resets_is_not_tracked(pod: Type) -> None:
    new = {"metadata": {"name": "p", "labels": {"a": "b"}}, "status": {"phase": "Running"}}
    assert owners(tracked(None, new, pod, reset=excluding("status"))) == {
        "me": {"f:metadata": {"f:labels": {".": {}, "f:a": {}}}}
    }


@pytest.mark.parametrize("asked", [[], [{}], [{"manager": "", "time": None}]])
def test_a_client_can_have_the_managers_forgotten(config_map: Type, asked: Any) -> None:
    live = tracked(None, config({"a": "1"}), config_map)
    forgotten = tracked(live, config({"a": "2"}, managedFields=asked), config_map)
    assert "managedFields" not in forgotten["metadata"]
    later = tracked(forgotten, config({"a": "3"}), config_map)
    assert "managedFields" not in later["metadata"]


def test_a_created_object_is_tracked_even_if_its_managers_are_to_be_forgotten(config_map: Type) -> None:
    assert list(owners(tracked(None, config({"a": "1"}, managedFields=[]), config_map))) == ["me"]


@pytest.mark.parametrize(
    "broken",
    [
        {"operation": "Invent", "apiVersion": "v1", "fieldsType": "FieldsV1"},
        {"operation": "Update", "fieldsType": "FieldsV1"},
        {"operation": "Update", "apiVersion": "v1"},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV2"},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"x": {}}},
        {"operation": "Update", "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": [1]},
    ],
)
def test_malformed_managers_in_a_request_are_ignored(config_map: Type, broken: Any) -> None:
    live = tracked(None, config({"a": "1"}), config_map)
    new = tracked(live, config({"a": "1"}, managedFields=[{"manager": "odd", **broken}]), config_map)
    assert new["metadata"]["managedFields"] == live["metadata"]["managedFields"]
    assert managed.problem_with([{"manager": "odd", **broken}])


def test_managers_in_a_request_replace_those_of_the_object(config_map: Type) -> None:
    live = tracked(None, config({"a": "1", "b": "2"}), config_map, "first")
    asked = [
        {
            "manager": "named",
            "operation": "Apply",
            "apiVersion": "v1",
            "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {"f:b": {}, "f:a": {}}},
        }
    ]
    new = tracked(live, config({"a": "1", "b": "3"}, managedFields=asked), config_map, "second")
    assert owners(new) == {"named": {"f:data": {"f:a": {}}}, "second": {"f:data": {"f:b": {}}}}


def test_a_subresource_ignores_managers_in_a_request(pod: Type) -> None:
    live = tracked(None, {"metadata": {"name": "p", "labels": {"a": "b"}}}, pod)
    new = tracked(
        live, copied(live) | {"metadata": live["metadata"] | {"managedFields": []}}, pod, subresource="status"
    )
    assert new["metadata"]["managedFields"] == live["metadata"]["managedFields"]


def test_the_oldest_updaters_are_joined_past_ten(config_map: Type) -> None:
    live = tracked(None, config({"k0": "0"}), config_map, "m0", now="2026-01-01T00:00:00Z")
    for number in range(1, 12):
        data = live["data"] | {f"k{number}": "0"}
        live = tracked(live, config(data), config_map, f"m{number}", now=f"2026-01-01T00:00:{number:02d}Z")
    entries = live["metadata"]["managedFields"]
    assert [entry["manager"] for entry in entries] == ["ancient-changes", *(f"m{number}" for number in range(3, 12))]
    assert entries[0]["fieldsV1"] == {"f:data": {".": {}, "f:k0": {}, "f:k1": {}, "f:k2": {}}}
    assert entries[0]["time"] == "2026-01-01T00:00:02Z"


def test_updates_in_another_version_are_managers_of_their_own(config_map: Type) -> None:
    live = tracked(None, event({"a": "1"}), config_map, api_version="events.k8s.io/v1", now=EARLIER)
    new = tracked(live, event({"a": "1", "b": "2"}), config_map)
    assert [entry["apiVersion"] for entry in new["metadata"]["managedFields"]] == ["events.k8s.io/v1", "v1"]


def test_managers_of_a_version_that_their_kind_never_had_are_forgotten(config_map: Type) -> None:
    live = tracked(None, config({"a": "1"}), config_map, "gone", api_version="v7", now=EARLIER)
    assert list(owners(tracked(live, config({"a": "1", "b": "2"}), config_map))) == ["me"]


def test_owners_in_another_version_see_the_change_as_that_version_does(make_type: Any) -> None:
    old_type, new_type = make_type({"spec": {"count": "integer"}}), make_type({"spec": {"size": "integer"}})

    def convert(obj: Any, version: str) -> Any:
        if version == "gone":
            return None
        return {"metadata": obj["metadata"], "spec": {"count": obj["spec"]["size"]}}, old_type

    def entry(manager: str, version: str, name: str) -> Any:
        fields = {"f:spec": {f"f:{name}": {}, "f:kept": {}}}
        kind = {"operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": fields}
        return {"manager": manager, "apiVersion": version, **kind}

    entries = [entry("a", "v1", "count"), entry("b", "gone", "count")]
    live = {"metadata": {"name": "x", "uid": "1", "managedFields": entries}, "spec": {"size": 1}}
    new = {"metadata": {"name": "x"}, "spec": {"size": 2}}
    result = tracked(live, new, new_type, "me", api_version="v2", convert=convert)
    assert owners(result) == {"a": {"f:spec": {"f:kept": {}}}, "me": {"f:spec": {"f:size": {}}}}


def test_an_untyped_value_that_turns_from_one_to_true_has_changed(make_type: Any) -> None:
    custom = make_type({"spec": "any"})
    live = tracked(None, {"metadata": {"name": "x"}, "spec": {"a": 1, "b": 1}}, custom, "first")
    new = tracked(live, {"metadata": {"name": "x"}, "spec": {"a": True, "b": 1.0}}, custom, "second")
    assert owners(new) == {"first": {"f:spec": {".": {}, "f:b": {}}}, "second": {"f:spec": {"f:a": {}}}}


@pytest.mark.parametrize(
    ("before", "after", "first", "second"),
    [
        ({"m": 1}, "text", {}, {"f:spec": {}}),
        ("text", {"m": 1}, {}, {"f:spec": {".": {}, "f:m": {}}}),
        ([1], [1, 2], {}, {"f:spec": {}}),
        ({}, None, {}, {"f:spec": {}}),
        ({"m": {}}, {"m": {"n": 1}}, {"f:spec": {".": {}, "f:m": {}}}, {"f:spec": {"f:m": {"f:n": {}}}}),
    ],
)
def test_untyped_values_may_change_their_type(make_type: Any, before: Any, after: Any, first: Any, second: Any) -> None:
    custom = make_type({"spec": "any"})
    live = tracked(None, {"metadata": {"name": "x"}, "spec": before}, custom, "first")
    new = tracked(live, {"metadata": {"name": "x"}, "spec": after}, custom, "second")
    assert owners(new) == {name: fields for name, fields in (("first", first), ("second", second)) if fields}


def test_a_list_that_became_atomic_is_taken_whole(make_type: Any) -> None:
    keyed = make_type({"spec": {"items": ["map", {"name": "string", "v": "string"}, "name"]}})
    atomic = make_type({"spec": {"items": ["atomic", {"name": "string", "v": "string"}]}})
    one = {"metadata": {"name": "x"}, "spec": {"items": [{"name": "a", "v": "1"}]}}
    other = {"metadata": {"name": "x"}, "spec": {"items": [{"name": "a", "v": "2"}]}}
    live = tracked(None, one, keyed, "first")
    assert owners(tracked(live, other, atomic, "second")) == {
        "first": {"f:spec": {}},
        "second": {"f:spec": {"f:items": {}}},
    }


@pytest.mark.parametrize(
    ("before", "after", "first", "second"),
    [
        (["a", "b"], ["b", "c"], {".": {}, 'v:"b"': {}}, {'v:"c"': {}}),
        (["a", "b"], ["b", "a"], {".": {}, 'v:"a"': {}, 'v:"b"': {}}, None),
        (["a"], ["a", "a"], {}, {'v:"a"': {}}),
        (["a", "a"], ["a"], {}, {'v:"a"': {}}),
        (["a", "a"], ["a", "a"], {".": {}, 'v:"a"': {}}, None),
    ],
)
def test_elements_of_a_set_are_owned_by_value(make_type: Any, before: Any, after: Any, first: Any, second: Any) -> None:
    custom = make_type({"spec": {"items": ["set", "string"]}})
    live = tracked(None, {"metadata": {"name": "x"}, "spec": {"items": before}}, custom, "first")
    found = owners(tracked(live, {"metadata": {"name": "x"}, "spec": {"items": after}}, custom, "second"))
    assert found["first"]["f:spec"] == {".": {}, "f:items": first}
    assert found.get("second") == (None if second is None else {"f:spec": {"f:items": second}})


def test_a_time_that_alone_changed_is_put_back(config_map: Type) -> None:
    live = tracked(None, config({"a": "1"}), config_map, now=EARLIER)
    again = copied(live)
    again["metadata"]["managedFields"][0]["time"] = NOW
    managed.keep_times(live, again)
    assert again == live


@pytest.mark.parametrize("change", [{"data": {"a": "2"}}, {"metadata": {"labels": {"x": "y"}}}])
def test_times_stay_when_something_else_changed_too(config_map: Type, change: Any) -> None:
    live = tracked(None, config({"a": "1"}), config_map, now=EARLIER)
    new = copied(live)
    new["metadata"]["managedFields"][0]["time"] = NOW
    for name, members in change.items():
        new[name] |= members
    managed.keep_times(live, new)
    assert new["metadata"]["managedFields"][0]["time"] == NOW
