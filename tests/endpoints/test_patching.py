"""Patches: which are refused at once, which once the object is there, and in which words."""

from __future__ import annotations

from typing import Any

import pytest

from tests.endpoints.conftest import Answer, ConfigMaps

JSON = "application/json-patch+json"
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
APPLY = "application/apply-patch+yaml"
UNREAD = "error decoding patch: json: cannot unmarshal"
NO_MAP = "json: cannot unmarshal {} into Go value of type map[string]interface {{}}"


def patch(to: ConfigMaps, body: Any, kind: str = MERGE, name: str = "a", query: str = "fieldManager=m") -> Answer:
    return to.call("PATCH", f"/{name}?{query}", body, content_type=kind)


@pytest.mark.parametrize("kind", [JSON, MERGE, STRATEGIC])
def test_what_is_no_json_is_refused_before_the_object_is_looked_for(config_maps: ConfigMaps, kind: str) -> None:
    refused = patch(config_maps, b"{", kind, "missing")
    assert (refused.status, refused.body["message"]) == (400, "invalid JSON patch")


@pytest.mark.parametrize(
    ("kind", "body", "query", "message"),
    [
        (MERGE, b"[]", "", f"error decoding patch: {NO_MAP.format('array')}"),
        (MERGE, b"5", "fieldValidation=Ignore", "Invalid JSON Patch"),
        (STRATEGIC, b'"x"', "", NO_MAP.format("string")),
        (JSON, b"{}", "", f"{UNREAD} object into Go value of type []handlers.jsonPatchOp"),
        (JSON, b"{}", "fieldValidation=Ignore", "json: cannot unmarshal object into Go value of type jsonpatch.Patch"),
        (JSON, b"[1]", "", f"{UNREAD} number into Go value of type handlers.jsonPatchOp"),
        (
            JSON,
            b'[{"op":"test","path":1}]',
            "",
            f"{UNREAD} number into Go struct field jsonPatchOp.path of type string",
        ),
    ],
)
def test_json_that_is_no_patch_is_refused_once_the_object_is_there(
    config_maps: ConfigMaps, kind: str, body: bytes, query: str, message: str
) -> None:
    assert patch(config_maps, body, kind, "missing", query).status == 404
    config_maps.made("a")
    refused = patch(config_maps, body, kind, "a", query)
    assert (refused.status, refused.body.get("reason"), refused.body["message"]) == (400, "BadRequest", message)


def test_an_applied_text_is_read_as_json_first_where_it_looks_like_it(config_maps: ConfigMaps) -> None:
    assert patch(config_maps, b"[a", APPLY).body["message"].startswith("error encoding patch: yaml: ")
    told = "error decoding patch: error converting YAML to JSON: yaml: "
    assert patch(config_maps, b"{a: b", APPLY).body["message"].startswith(told)


def test_keys_that_stand_twice_in_what_is_applied_are_told_by_their_lines(config_maps: ConfigMaps) -> None:
    text = b"apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: '1'\n  a: '2'\n"
    applied = patch(config_maps, text, APPLY)
    assert (applied.status, applied.warnings) == (201, [r"line 6: key \"a\" already set in map"])
    refused = patch(config_maps, text, APPLY, query="fieldManager=m&fieldValidation=Strict")
    assert refused.body["message"] == (
        "error strict decoding patch: error converting YAML to JSON: yaml: unmarshal errors:\n"
        '  line 6: key "a" already set in map'
    )


def test_unknown_fields_are_told_in_order_of_their_names(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    body = {"foo": {"bar": 1}, "baz": 2, "metadata": {"z": 1, "y": 2}}
    told = [r"unknown field \"baz\"", r"unknown field \"foo\"", r"unknown field \"metadata.y\""]
    assert patch(config_maps, body).warnings == [*told, r"unknown field \"metadata.z\""]


@pytest.mark.parametrize(("field", "said"), [("kind", ""), ("kind", None)])
def test_a_kind_that_was_patched_away_is_put_back(config_maps: ConfigMaps, field: str, said: Any) -> None:
    config_maps.made("a")
    assert patch(config_maps, {field: said}).body["kind"] == "ConfigMap"


def test_what_is_applied_without_metadata_takes_its_name_from_what_is_there(config_maps: ConfigMaps) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": None}
    refused = patch(config_maps, config, APPLY)
    assert (refused.status, refused.body["message"]) == (
        400,
        "the name of the object (a based on URL) was undeterminable: name must be provided",
    )
    config_maps.made("a")
    assert patch(config_maps, config, APPLY).status == 200


def test_an_object_without_a_version_has_no_name(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    refused = patch(config_maps, {"apiVersion": None})
    assert (refused.status, refused.body["message"]) == (
        400,
        "the name of the object (a based on URL) was undeterminable: name must be provided",
    )


def test_nothing_is_created_by_applying_what_has_no_metadata(config_maps: ConfigMaps) -> None:
    answer = patch(config_maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": None}, APPLY, name="none")
    assert (answer.status, answer.body["message"]) == (
        400,
        "the name of the object (none based on URL) was undeterminable: name must be provided",
    )


def test_a_known_kind_does_not_become_another(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    told = patch(config_maps, {"kind": "Status"}).body["message"]
    assert told.endswith("converting (v1.Status) to (core.ConfigMap): unknown conversion")


def test_an_empty_list_of_managers_forgets_them(config_maps: ConfigMaps) -> None:
    made = config_maps.made("a", data={"a": "1"})
    assert "managedFields" in made["metadata"]
    assert "managedFields" not in patch(config_maps, {"metadata": {"managedFields": []}}).body["metadata"]


def test_a_deletion_is_not_a_matter_of_updates(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    refused = patch(config_maps, {"metadata": {"deletionTimestamp": "2030-01-01T00:00:00Z"}})
    (cause,) = refused.body["details"]["causes"]
    assert cause["field"] == "metadata.deletionTimestamp"
    assert cause["message"].endswith("field is immutable")


def test_metadata_that_may_change_is_judged_before_what_may_not(config_maps: ConfigMaps) -> None:
    config_maps.made("a")
    refused = patch(config_maps, {"metadata": {"uid": "x", "labels": {"a": "-"}, "finalizers": ["x"]}})
    fields = [cause["field"] for cause in refused.body["details"]["causes"]]
    assert fields == ["metadata.labels", "metadata.uid", "metadata.finalizers[0]"]


def test_what_is_applied_and_does_not_convert_is_told_by_the_converter(config_maps: ConfigMaps) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "binaryData": {"a": "?"}}
    refused = patch(config_maps, config, APPLY)
    kind = "/v1, Kind=ConfigMap"
    assert (refused.status, refused.body["message"]) == (
        500,
        f"failed to convert new object (/a; {kind}) to proper version: "
        f"unable to convert unstructured object to {kind}: "
        "error decoding from json: illegal base64 data at input byte 0",
    )


def test_what_is_applied_without_metadata_has_no_name(config_maps: ConfigMaps) -> None:
    refused = patch(config_maps, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": None}, APPLY)
    assert refused.status == 400
    assert refused.body["message"].endswith("was undeterminable: name must be provided")


def test_a_refused_strategic_merge_is_shown_without_the_lists_that_it_merged_in_order(config_maps: ConfigMaps) -> None:
    config_maps.client.create(config_maps.path, {"metadata": {"name": "a"}})
    owner = {"apiVersion": "v1", "kind": "Pod", "name": 5, "uid": "u"}
    metadata = {"$setElementOrder/ownerReferences": [{"uid": "u"}], "ownerReferences": [owner], "labels": {"a": "b"}}
    refused = patch(config_maps, {"metadata": metadata}, STRATEGIC)
    assert refused.body["message"] == (
        ' "" is invalid: patch: Invalid value: "map[metadata:map[labels:map[a:b]]]": cannot convert int64 to string'
    )


def test_numbers_that_are_not_read_from_json_run_over(config_maps: ConfigMaps) -> None:
    path = config_maps.path.replace("/api/v1/", "/apis/apps/v1/").replace("configmaps", "deployments")
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}}
    spec = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    deployments = ConfigMaps(config_maps.client, path)
    config_maps.client.create(path, {"metadata": {"name": "a"}, "spec": spec})
    refused = patch(deployments, {"spec": {"replicas": 3_000_000_000}}, STRATEGIC)
    assert "spec.replicas: Invalid value: -1294967296: must be greater than or equal to 0" in refused.body["message"]
