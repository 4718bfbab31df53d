"""Custom resources are served by the request after their definition, as built-in ones are."""

from __future__ import annotations

from typing import Any

import pytest

SPEC = {"type": "object", "properties": {"size": {"type": "integer"}, "color": {"type": "string", "default": "red"}}}
SCHEMA = {"type": "object", "properties": {"spec": SPEC}}
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


def test_a_definition_is_served_by_the_very_next_request(group: Any) -> None:
    assert group.call("GET", f"/apis/{group.name}").status == 404
    group.define(SCHEMA)
    made = group.create("a", spec={"size": 1})
    assert made.status == 201
    assert made.body["spec"] == {"size": 1, "color": "red"}
    assert made.body["metadata"]["generation"] == 1
    assert group.get("foos").body["items"] == [made.body]


def test_a_change_of_the_schema_is_in_force_for_the_very_next_request(group: Any) -> None:
    group.define(SCHEMA)
    group.create("a", spec={"size": 1})
    path = f"{DEFINITIONS}/foos.{group.name}"
    change = [{"op": "add", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/new",
               "value": {"type": "string", "default": "here"}}]  # fmt: skip
    assert group.call("PATCH", path, change, content_type="application/json-patch+json").status == 200
    assert group.get("foos/a").body["spec"] == {"size": 1, "color": "red", "new": "here"}
    gone = [{"op": "remove", "path": "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/size"}]
    group.call("PATCH", path, gone, content_type="application/json-patch+json")
    assert group.get("foos/a").body["spec"] == {"color": "red", "new": "here"}


def test_unknown_fields_are_pruned_warned_of_or_refused(group: Any) -> None:
    group.define(SCHEMA)
    warned = group.create("a", spec={"size": 1, "no": 2})
    assert warned.body["spec"] == {"size": 1, "color": "red"}
    assert warned.warnings == ['unknown field "spec.no"']
    refused = group.create("b", query="?fieldValidation=Strict", spec={"no": 2})
    assert refused.status == 400
    assert refused.body["message"].endswith('strict decoding error: unknown field "spec.no"')
    assert group.create("c", query="?fieldValidation=Ignore", spec={"no": 2}).warnings == []


def test_an_object_that_violates_its_schema_is_refused(group: Any) -> None:
    group.define(SCHEMA)
    assert group.create("a", spec={"size": "x"}).problems == [
        'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"'
    ]
    group.create("a", spec={"size": 1})
    assert group.patch("foos/a", {"spec": {"size": "x"}}).status == 422
    assert group.get("foos/a").body["spec"]["size"] == 1


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"metadata": {"name": "a"}}, "Object 'Kind' is missing"),
        ({"apiVersion": "v1", "kind": "Foo", "metadata": {"name": "a"}}, "does not match the expected API version"),
    ],
)
def test_a_body_must_say_what_it_is(group: Any, body: Any, message: str) -> None:
    group.define(SCHEMA)
    answer = group.call("POST", group.path("foos"), body)
    assert answer.status == 400
    assert message in answer.body["message"]


def test_there_is_no_strategic_merge(group: Any) -> None:
    group.define(SCHEMA)
    group.create("a")
    answer = group.patch("foos/a", {"spec": {}}, "application/strategic-merge-patch+json")
    assert answer.status == 415


def test_a_write_must_name_the_version_it_replaces(group: Any) -> None:
    group.define(SCHEMA)
    made = group.create("a", spec={"size": 1}).body
    put = {**made, "spec": {"size": 2}}
    unversioned = {**put, "metadata": {"name": "a"}}
    assert group.call("PUT", group.path("foos/a"), unversioned).problems == [
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    ]
    assert group.call("PUT", group.path("foos/a"), put).body["metadata"]["generation"] == 2
    assert group.call("PUT", group.path("foos/a"), put).status == 409


def test_paths_that_no_definition_covers_are_not_found_in_plain_text(group: Any) -> None:
    group.define(SCHEMA)
    for path in (group.path("bars"), group.path("foos", "v2"), f"/apis/{group.name}/v1/foos/a"):
        answer = group.call("GET", path)
        assert (answer.status, answer.body) == (404, "404 page not found\n")
    assert group.get("foos/a/status").status == 404


def test_the_status_is_written_through_its_own_endpoint_only(group: Any) -> None:
    schema = {"type": "object", "properties": {**SCHEMA["properties"], "status": {"type": "object", "properties": {
        "replicas": {"type": "integer"}}}}}  # fmt: skip
    group.define(schema, version={"subresources": {"status": {}}})
    assert "status" not in group.create("a", spec={"size": 1}, status={"replicas": 9}).body
    assert "status" not in group.patch("foos/a", {"status": {"replicas": 1}}).body
    written = group.patch("foos/a/status", {"status": {"replicas": 1}, "spec": {"size": 7}}).body
    assert (written["status"], written["spec"]["size"]) == ({"replicas": 1}, 1)
    assert written["metadata"]["generation"] == 1


def test_a_scale_writes_the_replicas_where_the_definition_keeps_them(group: Any) -> None:
    scale = {"specReplicasPath": ".spec.size", "statusReplicasPath": ".status.size"}
    group.define(SCHEMA, version={"subresources": {"scale": scale}})
    group.create("a", spec={"size": 2})
    assert group.get("foos/a/scale").body["spec"] == {"replicas": 2}
    assert group.patch("foos/a/scale", {"spec": {"replicas": 5}}).body["spec"] == {"replicas": 5}
    assert group.get("foos/a").body["spec"]["size"] == 5
    group.create("b")
    assert group.get("foos/b/scale").status == 500


def test_columns_are_found_by_their_paths(group: Any) -> None:
    columns = [
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size"},
        {"name": "Ready", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Ready")].status'},
    ]
    group.define(version={"additionalPrinterColumns": columns})
    group.create(
        "a",
        spec={"size": 3},
        status={"conditions": [{"type": "X", "status": "1"}, {"type": "Ready", "status": "True"}]},
    )
    table = group.call("GET", group.path("foos"), accept="application/json;as=Table;v=v1;g=meta.k8s.io").body
    assert [c["name"] for c in table["columnDefinitions"]] == ["Name", "Size", "Ready"]
    assert table["rows"][0]["cells"] == ["a", 3, "True"]


def test_only_fields_that_the_definition_selects_can_be_selected_by(group: Any) -> None:
    group.define(SCHEMA, version={"selectableFields": [{"jsonPath": ".spec.color"}]})
    group.create("a")
    group.create("b", spec={"color": "blue"})
    found = group.get("foos?fieldSelector=spec.color%3Dblue").body["items"]
    assert [item["metadata"]["name"] for item in found] == ["b"]
    assert group.get("foos?fieldSelector=spec.size%3D1").body["message"] == "field label not supported: spec.size"


def test_appliers_share_a_list_that_is_a_map(group: Any) -> None:
    item = {"type": "object", "required": ["k"], "properties": {"k": {"type": "string"}, "v": {"type": "string"}}}
    many = {"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]}
    group.define({"type": "object", "properties": {"spec": {"type": "object", "properties": {"many": many}}}})
    for manager in ("one", "two"):
        body = group.object("a", spec={"many": [{"k": manager, "v": "1"}]})
        group.call("PATCH", f"{group.path('foos/a')}?fieldManager={manager}", body,
                   content_type="application/apply-patch+yaml")  # fmt: skip
    assert [i["k"] for i in group.get("foos/a").body["spec"]["many"]] == ["one", "two"]
    taken = group.object("a", spec={"many": [{"k": "one", "v": "2"}]})
    conflict = group.call("PATCH", f"{group.path('foos/a')}?fieldManager=two", taken,
                          content_type="application/apply-patch+yaml")  # fmt: skip
    assert conflict.status == 409


@pytest.mark.parametrize(
    ("name", "value", "found"),
    [
        ("size", None, 'Invalid value: "null": spec.size in body must be of type integer: "null"'),
        ("born", 5, 'Invalid value: "int64": spec.born in body must be of type date-time: "int64"'),
    ],
)
def test_what_was_applied_is_judged_with_its_nulls_and_formats(group: Any, name: str, value: Any, found: str) -> None:
    born = {"type": "string", "format": "date-time"}
    spec = {"type": "object", "properties": {**SPEC["properties"], "born": born}}
    group.define({"type": "object", "properties": {"spec": spec}})
    path, applied = f"{group.path('foos/a')}?fieldManager=m", {"content_type": "application/apply-patch+yaml"}
    refused = group.call("PATCH", path, group.object("a", spec={name: value}), **applied)
    assert refused.problems == [f"spec.{name}: {found}"]
    given = group.call("PATCH", path, group.object("a", spec={"color": None}), **applied)
    assert (given.status, given.body["spec"]) == (201, {"color": "red"})


def test_a_rule_that_an_unchanged_value_breaks_is_only_warned_of(group: Any) -> None:
    text = {"type": "string"}
    shape = {"type": "object", "properties": {"name": text, "size": {"type": "integer"}}}
    group.define({"type": "object", "properties": {"spec": shape}})
    assert group.create("old", spec={"name": "UPPER", "size": 1}).status == 201
    lower = {
        **text,
        "x-kubernetes-validations": [{"rule": "self == self.lowerAscii()", "message": "must be lowercase"}],
    }
    tighter = {
        "type": "object",
        "properties": {"spec": {**shape, "properties": {**shape["properties"], "name": lower}}},
    }
    path = "/spec/versions/0/schema/openAPIV3Schema"
    patched = group.call(
        "PATCH",
        f"/apis/apiextensions.k8s.io/v1/customresourcedefinitions/foos.{group.name}",
        [{"op": "replace", "path": path, "value": tighter}],
        content_type="application/json-patch+json",
    )
    assert patched.status == 200
    warning = 'spec.name: Invalid value: "UPPER": must be lowercase'
    changed = group.patch("foos/old", {"spec": {"size": 2}})
    assert (changed.status, changed.warnings) == (200, [warning])
    refused = group.patch("foos/old", {"spec": {"name": "OTHER"}})
    assert refused.problems == ['spec.name: Invalid value: "OTHER": must be lowercase']
    assert refused.warnings == []
    mended = group.patch("foos/old", {"spec": {"name": "lower"}})
    assert (mended.status, mended.warnings) == (200, [])


def test_rules_are_judged_of_another_kind_but_not_of_what_has_no_name(group: Any) -> None:
    size = {"type": "integer", "x-kubernetes-validations": [{"rule": "self < 3", "message": "too big"}]}
    group.define({"type": "object", "properties": {"spec": {"type": "object", "properties": {"size": size}}}})
    body = group.object("a", spec={"size": 5})
    other = group.call("POST", group.path("foos"), {**body, "kind": "Bar"})
    assert other.body["message"] == (
        f'Bar.{group.name} "a" is invalid: [kind: Invalid value: "Bar": must be Foo, '
        "spec.size: Invalid value: 5: too big]"
    )
    nameless = group.call("POST", group.path("foos"), {**body, "metadata": {}})
    assert nameless.problems == [
        "metadata.name: Required value: name or generateName is required",
        "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct "
        "the existing errors to complete validation",
    ]
