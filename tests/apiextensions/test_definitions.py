"""Definitions: what they must say, who gets which name, and how they go."""

from __future__ import annotations

from typing import Any

import pytest

DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
AT = "spec.validation.openAPIV3Schema.properties[f]"


def conditions(answer: Any) -> dict[str, tuple[str, str]]:
    found = answer.body["status"]["conditions"] or []
    return {c["type"]: (c["status"], c["reason"]) for c in found}


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"type": "strin"}, f'{AT}.type: Unsupported value: "strin"'),
        ({}, f"{AT}.type: Required value: must not be empty for specified object fields"),
        ({"type": "array"}, f"{AT}.items: Required value: must be specified"),
        ({"type": "string", "pattern": "("}, f'{AT}.pattern: Invalid value: "(": must be a valid regular expression'),
        ({"type": "string", "anyOf": [{"type": "string"}]}, f"{AT}.anyOf[0].type: Forbidden: must be empty"),
        ({"type": "array", "uniqueItems": True, "items": {"type": "string"}}, f"{AT}.uniqueItems: Forbidden"),
        ({"type": "string", "default": 1}, f'{AT}.default: Invalid value: "integer": '),
        ({"type": "object", "default": {"x": 1}}, f'{AT}.default: Invalid value: {{"x":1}}: must not have unknown'),
        (
            {"type": "object", "additionalProperties": {"type": "string"}, "default": {"x": 1}},
            f'{AT}.default.x: Invalid value: "integer": .x in body must be of type string: "integer"',
        ),
        ({"type": "object", "$ref": "#/x"}, f"{AT}.$ref: Forbidden: $ref is not supported"),
        (
            {"type": "object", "properties": {"a": {"type": "string"}}, "additionalProperties": {"type": "string"}},
            f"{AT}.additionalProperties: Forbidden: additionalProperties and properties are mutual exclusive",
        ),
        (
            {"type": "array", "items": {"type": "object"}, "x-kubernetes-list-type": "map"},
            f"{AT}.x-kubernetes-list-map-keys: Required value",
        ),
        (
            {"type": "string", "x-kubernetes-validations": [{"rule": " "}]},
            f"{AT}.x-kubernetes-validations[0].rule: Required value: rule is not specified",
        ),
    ],
)
def test_a_schema_that_is_not_structural_is_refused(group: Any, schema: Any, problem: str) -> None:
    found = group.define({"type": "object", "properties": {"f": schema}}).problems
    assert any(text.startswith(problem) for text in found), found


@pytest.mark.parametrize("schema", [{"properties": {}}, {"description": "anything"}])
def test_a_schema_must_say_that_it_is_of_objects(group: Any, schema: Any) -> None:
    at = "spec.validation.openAPIV3Schema.type"
    assert group.define(schema).problems == [f"{at}: Required value: must not be empty at the root"]


def test_a_default_of_whole_objects_must_be_one(group: Any) -> None:
    at = "spec.validation.openAPIV3Schema.default"
    assert group.define({"type": "object", "default": {"spec": 1}}).problems == [
        f'{at}: Invalid value: {{"spec":1}}: must not have unknown fields',
        f"{at}.apiVersion: Required value",
        f"{at}.kind: Required value",
    ]


def test_values_in_a_schema_are_written_as_go_holds_them(group: Any) -> None:
    shape = {
        "f": {"type": "number", "default": 1.0, "enum": [1.0, 2.5]},
        "g": {"x-kubernetes-int-or-string": True, "default": 1.5},
    }
    made = group.define({"type": "object", "properties": shape}).body["spec"]["versions"][0]["schema"][
        "openAPIV3Schema"
    ]
    assert str(made["properties"]["f"]) == "{'type': 'number', 'default': 1, 'enum': [1, 2.5]}"
    assert made["properties"]["g"]["default"] == 1.5


def test_fields_selectable_in_one_version_need_a_schema_of_that_version(group: Any) -> None:
    versions = [
        group.definition(plural="foos")["spec"]["versions"][0] | {"name": n, "storage": n == "v1"} for n in ("v1", "v2")
    ]
    versions[0] = versions[0] | {"selectableFields": [{"jsonPath": ".spec.a"}]}
    assert group.define(versions=versions).problems == [
        'spec.versions[0].selectableFields: Invalid value: "": may only be set when `version.schema.openAPIV3Schema` '
        "is not included"
    ]


EMBEDDED = {"type": "object", "x-kubernetes-embedded-resource": True, "x-kubernetes-preserve-unknown-fields": True}
POD = {"apiVersion": "v1", "kind": "Pod"}
NUMBER = "json: cannot unmarshal number into Go struct field ObjectMeta.labels of type string"


@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        ({"default": {"kind": "Pod"}}, "default.apiVersion: Required value"),
        ({"default": {**POD, "metadata": {"labels": {"a": 1}}}}, "default.metadata: Invalid value: "),
        ({"default": {**POD, "kind": 1}}, "default.kind: Invalid value: 1: must be a string"),
        (
            {"properties": {"metadata": {"type": "object", "default": {"labels": {"a": 1}}}}},
            'properties[metadata].default: Invalid value: {"labels":{"a":1}}: must result in valid metadata: '
            f'metadata: Invalid value: {{"labels":{{"a":1}}}}: {NUMBER}',
        ),
        (
            {
                "properties": {
                    "metadata": {"type": "object", "properties": {"name": {"type": "string", "default": "/"}}}
                }
            },
            'properties[metadata].properties[name].default: Invalid value: "/": must result in valid metadata: '
            "metadata.name: Invalid value: \"/\": may not contain '/'",
        ),
    ],
)
def test_a_default_must_make_a_resource_that_can_be(group: Any, schema: Any, problem: str) -> None:
    found = group.define({"type": "object", "properties": {"f": {**EMBEDDED, **schema}}}).problems
    assert len(found) == 1
    assert found[0].startswith(f"{AT}.{problem}")


def test_defaults_of_an_embedded_resource_are_written_without_what_its_metadata_cannot_hold(group: Any) -> None:
    name = {"type": "object", "properties": {"name": {"type": "string", "default": "named"}}}
    shape = {
        "whole": {**EMBEDDED, "default": {**POD, "metadata": {"name": "a", "unknown": 1}, "free": 1}},
        "part": {**EMBEDDED, "properties": {"metadata": {"type": "object", "default": {"name": "b", "unknown": 1}}}},
        "deep": {**EMBEDDED, "properties": {"metadata": name}},
    }
    spec = {"type": "object", "properties": shape}
    assert group.define({"type": "object", "properties": {"spec": spec}}).status == 201
    created = group.create("x", spec={"part": {**POD}, "deep": {**POD, "metadata": {"labels": {"a": "b"}}}})
    assert created.status == 201, created.body
    assert created.body["spec"] == {
        "whole": {**POD, "metadata": {"name": "a"}, "free": 1},
        "part": {**POD, "metadata": {"name": "b"}},
        "deep": {**POD, "metadata": {"labels": {"a": "b"}, "name": "named"}},
    }


def test_the_name_is_made_of_plural_and_group(group: Any) -> None:
    body = group.definition()
    body["metadata"] = {"name": f"bars.{group.name}", "labels": {"a": "not a value!"}}
    problem, of_labels = group.call("POST", DEFINITIONS, body).problems
    assert problem == f'metadata.name: Invalid value: "bars.{group.name}": must be spec.names.plural+"."+spec.group'
    assert of_labels.startswith("metadata.labels: ")


def test_scope_and_kind_are_fixed_once_established(group: Any) -> None:
    group.define()
    path = f"{DEFINITIONS}/foos.{group.name}"
    group.until(path, lambda a: conditions(a).get("Established") == ("True", "InitialNamesAccepted"))
    change = {"spec": {"scope": "Cluster", "names": {"kind": "Bar", "listKind": "BarList"}}}
    assert group.call("PATCH", path, change, content_type="application/merge-patch+json").problems == [
        'spec.scope: Invalid value: "Cluster": field is immutable',
        'spec.names.kind: Invalid value: "Bar": field is immutable',
    ]


def test_a_name_that_is_taken_is_waited_for(group: Any) -> None:
    group.define()
    group.define(plural="others", names={"kind": "Foo"})
    second = f"{DEFINITIONS}/others.{group.name}"
    waiting = group.until(second, lambda a: "NamesAccepted" in conditions(a))
    assert conditions(waiting) == {
        "NamesAccepted": ("False", "ListKindConflict"),
        "Established": ("False", "NotAccepted"),
    }
    assert group.get("others").status == 404
    group.call("DELETE", f"{DEFINITIONS}/foos.{group.name}")
    group.until(second, lambda a: conditions(a).get("Established") == ("True", "InitialNamesAccepted"))
    assert group.get("others").status == 200


def test_a_definition_goes_after_its_last_instance(group: Any) -> None:
    group.define()
    path = f"{DEFINITIONS}/foos.{group.name}"
    group.until(path, lambda a: "Established" in conditions(a))
    group.create("free")
    held = group.object("held")
    held["metadata"]["finalizers"] = ["example.com/f"]
    group.call("POST", group.path("foos"), held)
    marked = group.call("DELETE", path).body
    assert marked["metadata"]["finalizers"] == ["customresourcecleanup.apiextensions.k8s.io"]
    group.until(path, lambda a: conditions(a)["Terminating"] == ("True", "InstanceDeletionInProgress"))
    assert [i["metadata"]["name"] for i in group.get("foos").body["items"]] == ["held"]
    refused = group.create("new")
    assert (refused.status, refused.body["message"]) == (
        403,
        f'foos.{group.name} "new" is forbidden: create not allowed while custom resource definition is terminating',
    )
    group.patch("foos/held", {"metadata": {"finalizers": None}})
    group.until(path, lambda a: a.status == 404)
    assert group.get("foos").status == 404


def test_definitions_and_objects_are_there_after_a_restart(new_server: Any) -> None:
    name = "foos.restart.example.com"
    spec = {
        "group": "restart.example.com",
        "scope": "Cluster",
        "names": {"plural": "foos", "kind": "Foo"},
        "versions": [
            {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": {"type": "object"}}}
        ],
    }
    definition = {"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": spec}
    server = new_server()
    server.start()
    with server.client() as client:
        client.create(DEFINITIONS, {**definition, "metadata": {"name": name}})
        made = client.create(
            "/apis/restart.example.com/v1/foos",
            {"apiVersion": "restart.example.com/v1", "kind": "Foo", "metadata": {"name": "a"}},
        )
    server.stop()
    server.start()
    with server.client() as client:
        assert client.get("/apis/restart.example.com/v1/foos/a") == made
        assert "restart.example.com" in [g["name"] for g in client.get("/apis")["groups"]]


def test_lists_and_selectable_fields_are_published(group: Any) -> None:
    spec = {"type": "object", "properties": {"a": {"type": "string"}}}
    group.define(
        {"type": "object", "properties": {"spec": spec}},
        names={"listKind": "Foodstuffs"},
        version={"selectableFields": [{"jsonPath": ".spec.a"}]},
    )
    document = group.call("GET", f"/openapi/v3/apis/{group.name}/v1", accept="application/json").body
    prefix = f"com.example.{group.name.partition('.')[0]}.v1"
    for kind in ("Foo", "Foodstuffs"):
        schema = document["components"]["schemas"][f"{prefix}.{kind}"]
        assert schema["x-kubernetes-selectable-fields"] == [{"fieldPath": "spec.a"}]
    listed = document["paths"][f"/apis/{group.name}/v1/foos"]["get"]["responses"]["200"]["content"]
    assert listed["application/json"]["schema"]["$ref"] == f"#/components/schemas/{prefix}.Foodstuffs"


def test_a_resource_is_published_with_its_own_schema(group: Any) -> None:
    group.define(
        {"type": "object", "properties": {"spec": {"type": "object", "properties": {"s": {"type": "string"}}}}}
    )
    document = group.call("GET", f"/openapi/v3/apis/{group.name}/v1", accept="application/json").body
    name = f"com.example.{group.name.partition('.')[0]}.v1.Foo"
    schema = document["components"]["schemas"][name]
    assert schema["properties"]["spec"]["properties"] == {"s": {"type": "string"}}
    index = group.call("GET", "/openapi/v3", accept="application/json")
    assert f"apis/{group.name}/v1" in index.body
