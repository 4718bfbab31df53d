"""Devices: slices that offer them, claims that ask for them, and what becomes of the claims."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "resource.k8s.io/v1"
CLAIMS, SLICES, CLASSES = f"{GROUP}:resourceclaims", f"{GROUP}:resourceslices", f"{GROUP}:deviceclasses"
RULES = f"{GROUP}:devicetaintrules"


def claim(*requests: Any, **devices: Any) -> dict[str, Any]:
    spec = {"devices": {"requests": list(requests), **devices}}
    return {"apiVersion": GROUP, "kind": "ResourceClaim", "metadata": {"name": "c"}, "spec": spec}


def gpu(**exactly: Any) -> dict[str, Any]:
    return {"name": "gpu", "exactly": {"deviceClassName": "gpu.example.com", **exactly}}


def device_slice(*devices: Any, **spec: Any) -> dict[str, Any]:
    pool = {"name": "node-1", "generation": 1, "resourceSliceCount": 1}
    given = {"driver": "gpu.example.com", "pool": pool, "nodeName": "node-1", "devices": list(devices), **spec}
    return {"kind": "ResourceSlice", "spec": {key: value for key, value in given.items() if value is not None}}


def test_a_request_is_for_one_device_unless_it_says_otherwise(api: Any) -> None:
    [request] = api.made(CLAIMS, claim(gpu()))["spec"]["devices"]["requests"]
    assert (request["exactly"]["allocationMode"], request["exactly"]["count"]) == ("ExactCount", 1)


@pytest.mark.parametrize(
    ("request_", "wrong"),
    [
        ({"name": "a"}, ["requests[0]: Required value: exactly one of `exactly` or `firstAvailable` is required"]),
        (
            gpu(count=-1) | {"firstAvailable": [{"name": "B"}]},
            [
                "requests[0]: Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but "
                "multiple fields are set",
                "requests[0].firstAvailable[0].deviceClassName: Required value",
            ],
        ),
        (
            gpu(allocationMode="All", count=2),
            ["requests[0].exactly.count: Invalid value: 2: must not be specified when allocationMode is 'All'"],
        ),
        (
            gpu(allocationMode="Some"),
            ['requests[0].exactly.allocationMode: Unsupported value: "Some": supported values: "All", "ExactCount"'],
        ),
        (gpu(selectors=[{}]), ["requests[0].exactly.selectors[0].cel: Required value"]),
        (
            {"name": "a", "firstAvailable": [{"name": "b", "deviceClassName": "c" * 254}]},
            [
                f'requests[0].firstAvailable[0].deviceClassName: Invalid value: "{"c" * 254}": must be no more than '
                "253 bytes"
            ],
        ),
        (
            gpu(tolerations=[{"operator": "Exists", "value": "b", "effect": "Odd"}]),
            [
                'requests[0].exactly.tolerations[0].value: Invalid value: "b": must be empty for operator `Exists`',
                'requests[0].exactly.tolerations[0].effect: Unsupported value: "Odd": supported values: "NoExecute", '
                '"NoSchedule", "None"',
            ],
        ),
    ],
)
def test_a_request_is_checked(api: Any, request_: Any, wrong: list[str]) -> None:
    assert api.create(CLAIMS, claim(request_)).problems == [f"spec.devices.{problem}" for problem in wrong]


def test_what_refers_to_a_request_refers_to_one_that_is_there(api: Any) -> None:
    constraint = {"requests": ["none"], "matchAttribute": "example.com/numa"}
    assert api.create(CLAIMS, claim(gpu(), constraints=[constraint])).problems == [
        'spec.devices.constraints[0].requests[0]: Invalid value: "none": must be the name of a request in the claim or '
        "the name of a request and a subrequest separated by '/'"
    ]


def test_both_attributes_of_a_constraint_are_names(api: Any) -> None:
    constraint = {"matchAttribute": "example.com/numa", "distinctAttribute": "numa"}
    assert api.create(CLAIMS, claim(gpu(), constraints=[constraint])).problems == [
        'spec.devices.constraints[0].distinctAttribute: Invalid value: "numa": a fully qualified name must be a domain '
        "and a name separated by a slash"
    ]


def test_a_claim_is_allocated_once_and_reserved_only_then(api: Any) -> None:
    made = api.made(CLAIMS, claim(gpu()))
    user = {"resource": "pods", "name": "p", "uid": "u"}
    early = api.put(f"{CLAIMS}/c/status", {**made, "status": {"reservedFor": [user]}})
    assert early.problems == ["status.reservedFor: Forbidden: may not be specified when `allocated` is not set"]
    result = {"request": "gpu", "driver": "gpu.example.com", "pool": "node-1", "device": "gpu-0"}
    status = {"allocation": {"devices": {"results": [result]}}, "reservedFor": [user]}
    allocated = api.put(f"{CLAIMS}/c/status", {**made, "status": status})
    assert allocated.status == 200, allocated.body
    assert api.cells(f"{CLAIMS}/c")["State"] == "allocated,reserved"
    other = {"allocation": {"devices": {"results": [{**result, "device": "gpu-1"}]}}, "reservedFor": [user, user]}
    assert api.put(f"{CLAIMS}/c/status", {**allocated.body, "status": other}).problems == [
        "status.allocation: Invalid value: null: field cannot be modified once set",
        'status.reservedFor[1]: Duplicate value: {"resource":"pods","name":"p","uid":"u"}',
    ]


def test_what_a_claim_asks_for_stays(api: Any) -> None:
    made = api.made(CLAIMS, claim(gpu()))
    assert api.put(f"{CLAIMS}/c", {**made, "spec": claim(gpu(count=2))["spec"]}).problems == [
        "spec: Invalid value: null: field is immutable"
    ]


@pytest.mark.parametrize(
    ("device", "wrong"),
    [
        (
            {"attributes": {"a": {"int": 1, "bool": True}}},
            [
                'attributes[a]: Invalid value: "{int, bool}": must specify exactly one of: `int`, `bool`, `string`, '
                "`version`, `ints`, `bools`, `strings`, `versions`"
            ],
        ),
        (
            {"attributes": {"a": {"version": "one"}}},
            ['attributes[a].version: Invalid value: "one": must be a string compatible with semver.org spec 2.0.0'],
        ),
        (
            {"capacity": {"m": {"value": "1Gi", "requestPolicy": {"default": "1Mi"}}}},
            ["capacity[m].requestPolicy: Forbidden: allowMultipleAllocations must be true"],
        ),
        (
            {
                "allowMultipleAllocations": True,
                "capacity": {
                    "m": {
                        "value": "10",
                        "requestPolicy": {"default": "3", "validRange": {"min": "2", "max": "8", "step": "2"}},
                    }
                },
            },
            [
                'capacity[m].requestPolicy.validRange.step: Invalid value: "3": value is not a multiple of a given '
                "step (2) from (2)"
            ],
        ),
        (
            {"consumesCounters": [{"counters": {"c": {"value": "1"}}}]},
            ["consumesCounters[0].counterSet: Required value"],
        ),
    ],
)
def test_a_device_is_checked(cluster: Any, device: Any, wrong: list[str]) -> None:
    body = device_slice({"name": "gpu-0", **device})
    assert cluster.problems(SLICES, body) == [f"spec.devices[0].{problem}" for problem in wrong]


def test_a_slice_says_in_one_way_which_nodes_can_use_it(cluster: Any) -> None:
    ways = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
    assert cluster.problems(SLICES, device_slice(nodeName=None)) == [f"spec: Required value: {ways}"]
    assert cluster.problems(SLICES, device_slice(allNodes=True)) == [
        f'spec: Invalid value: "{{`nodeName`, `allNodes`}}": {ways}, but multiple fields are set'
    ]


def test_slices_are_found_by_their_driver(cluster: Any) -> None:
    cluster.made(SLICES, device_slice(driver=f"{cluster.name}.example.com"))
    found = cluster.call("GET", f"{SLICES}?fieldSelector=spec.driver%3D{cluster.name}.example.com").body["items"]
    assert [item["metadata"]["name"] for item in found] == [cluster.name]


def test_a_taint_with_another_effect_is_a_new_one(cluster: Any) -> None:
    taint = {"key": "example.com/broken", "effect": "NoSchedule", "timeAdded": "2020-01-01T00:00:00Z"}
    made = cluster.made(RULES, {"kind": "DeviceTaintRule", "spec": {"taint": taint}})
    made["spec"]["taint"]["effect"] = "NoExecute"
    changed = cluster.put(RULES, made).body
    assert changed["spec"]["taint"]["timeAdded"] != taint["timeAdded"]
    assert changed["metadata"]["generation"] == 2


def test_a_class_may_stand_for_an_extended_resource(cluster: Any) -> None:
    body = {"kind": "DeviceClass", "spec": {"extendedResourceName": "kubernetes.io/x"}}
    assert cluster.problems(CLASSES, body) == [
        'spec.extendedResourceName: Invalid value: "kubernetes.io/x": must not have "kubernetes.io/" domain'
    ]


@pytest.mark.parametrize(
    ("expression", "wrong"),
    [
        ("device.driver", "must evaluate to bool or the unknown type, not string"),
        (
            "device.bogus == 1",
            "compilation failed: ERROR: <input>:1:7: undefined field 'bogus'\n | device.bogus == 1\n | ......^",
        ),
    ],
)
def test_a_selector_is_an_expression_about_a_device(cluster: Any, expression: str, wrong: str) -> None:
    given = {"kind": "DeviceClass", "spec": {"selectors": [{"cel": {"expression": expression}}]}}
    assert cluster.problems(CLASSES, given) == [
        f'spec.selectors[0].cel.expression: Invalid value: "{expression}": {wrong}'
    ]


@pytest.mark.parametrize(
    ("path", "wrapped"), [(CLAIMS, lambda spec: spec), (f"{GROUP}:resourceclaimtemplates", lambda spec: {"spec": spec})]
)
def test_devices_that_are_in_use_are_reached_from_labelled_namespaces_alone(api: Any, path: str, wrapped: Any) -> None:
    kind = "ResourceClaim" if path == CLAIMS else "ResourceClaimTemplate"
    wanted = {**claim(gpu(), gpu(adminAccess=True) | {"name": "other"}), "kind": kind}
    wanted["spec"] = wrapped(wanted["spec"])
    refused = (
        "spec.devices.requests[1].adminAccess: Forbidden: admin access to devices requires the "
        "`resource.kubernetes.io/admin-access: true` label on the containing namespace"
    )
    assert api.create(path, wanted).problems == [refused]
    label = {"metadata": {"labels": {"resource.kubernetes.io/admin-access": "true"}}}
    merge = "application/merge-patch+json"
    assert api.client.call("PATCH", f"/api/v1/namespaces/{api.namespace}", label, content_type=merge)[0] == 200
    api.made(path, wanted)


def test_a_class_has_a_name_of_253_bytes_at_most(cluster: Any) -> None:
    long = {"kind": "DeviceClass", "spec": {}, "metadata": {"name": "n" * 254}}
    assert cluster.problems(CLASSES, long) == [
        f'metadata.name: Invalid value: "{"n" * 254}": must be no more than 253 bytes'
    ]


def test_a_template_is_checked_again_though_it_stays(api: Any) -> None:
    template = {**claim(), "kind": "ResourceClaimTemplate", "spec": {"spec": claim(gpu())["spec"]}}
    made = api.made(f"{GROUP}:resourceclaimtemplates", template)
    made["spec"]["spec"]["devices"]["requests"][0]["exactly"]["selectors"] = [{"cel": {"expression": ""}}]
    expression, stays = api.put(f"{GROUP}:resourceclaimtemplates/c", made).problems
    assert expression.startswith(
        'spec.spec.devices.requests[0].exactly.selectors[0].cel.expression: Invalid value: "": compilation failed: '
        "ERROR: <input>:1:0: Syntax error: mismatched input '<EOF>' expecting"
    )
    assert stays.startswith("spec: Invalid value: ")
    assert stays.endswith(": field is immutable")


def test_a_template_gives_claims_labels_and_annotations_alone(api: Any) -> None:
    metadata = {"labels": {"a": "b"}, "finalizers": ["example.com/f"], "uid": "u", "name": "n"}
    template = {**claim(), "kind": "ResourceClaimTemplate", "spec": {"metadata": metadata, "spec": claim()["spec"]}}
    assert api.create(f"{GROUP}:resourceclaimtemplates", template).problems == [
        f"spec.metadata.{field}: Forbidden: cannot be set" for field in ("name", "uID", "finalizers")
    ]
