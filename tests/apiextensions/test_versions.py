"""Versions of a custom resource: one is stored, all that are served show it."""

from __future__ import annotations

from typing import Any

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def version(name: str, *fields: str, storage: bool = False, **more: Any) -> dict[str, Any]:
    spec = {"type": "object", "properties": {field: {"type": "string"} for field in fields}}
    schema = {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec}}}
    return {"name": name, "served": True, "storage": storage, "schema": schema, **more}


def test_what_is_stored_is_shown_in_every_version_by_its_schema(group: Any) -> None:
    group.define(versions=[version("v1", "a", "both", storage=True), version("v2", "b", "both")])
    group.create("x", spec={"a": "1", "both": "2"})
    shown = group.get("foos/x", "v2").body
    assert shown["apiVersion"] == f"{group.name}/v2"
    assert shown["spec"] == {"both": "2"}
    assert group.get("foos", "v2").body["items"] == [shown]


def test_a_write_through_another_version_keeps_what_the_stored_one_knows(group: Any) -> None:
    group.define(versions=[version("v1", "both", storage=True), version("v2", "b", "both")])
    made = group.call("POST", group.path("foos", "v2"), group.object("x", "v2", spec={"b": "1", "both": "2"}))
    assert made.body["spec"] == {"both": "2"}


def test_an_empty_write_moves_an_object_to_the_new_storage_version(group: Any) -> None:
    group.define(versions=[version("v1", "a", storage=True), version("v2", "a")])
    before = group.create("x", spec={"a": "1"}).body["metadata"]["resourceVersion"]
    path = f"{DEFINITIONS}/foos.{group.name}"
    moved = {"spec": {"versions": [version("v1", "a"), version("v2", "a", storage=True)]}}
    changed = group.call("PATCH", path, moved, content_type="application/merge-patch+json")
    assert changed.body["status"]["storedVersions"] == ["v1", "v2"]
    assert group.patch("foos/x", {}).body["metadata"]["resourceVersion"] != before
    after = group.get("foos/x").body["metadata"]["resourceVersion"]
    assert group.patch("foos/x", {}).body["metadata"]["resourceVersion"] == after


def test_a_version_that_was_stored_stays_until_the_status_lets_it_go(group: Any) -> None:
    group.define(versions=[version("v1", "a", storage=True), version("v2", "a")])
    path = f"{DEFINITIONS}/foos.{group.name}"
    only = {"spec": {"versions": [version("v2", "a", storage=True)]}}
    refused = group.call("PATCH", path, only, content_type="application/merge-patch+json")
    assert refused.problems[0].startswith('status.storedVersions[0]: Invalid value: "v1": missing from spec.versions')


def test_versions_are_told_best_first_and_deprecated_ones_warn(group: Any) -> None:
    versions = [version("v1beta1", "a", deprecated=True), version("v1", "a", storage=True), version("v10", "a")]
    group.define(versions=versions)
    told = group.call("GET", f"/apis/{group.name}").body
    assert [v["version"] for v in told["versions"]] == ["v10", "v1", "v1beta1"]
    assert group.get("foos", "v1beta1").warnings == [
        f"{group.name}/v1beta1 Foo is deprecated; use {group.name}/v10 Foo"
    ]
