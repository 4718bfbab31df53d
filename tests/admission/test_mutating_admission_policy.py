"""Mutating policies, as clients meet them: each test has a namespace and policies bound to it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.admission.conftest import Place
from tests.server_process import Server

_API = "/apis/admissionregistration.k8s.io/v1"
_POLICIES, _BINDINGS = f"{_API}/mutatingadmissionpolicies", f"{_API}/mutatingadmissionpolicybindings"
_MERGE = "application/merge-patch+json"
Bind = Callable[..., str]


def config_map(name: str, **data: str) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def applied(expression: str) -> Any:
    return {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}}


def patched(expression: str) -> Any:
    return {"patchType": "JSONPatch", "jsonPatch": {"expression": expression}}


@pytest.fixture
def bind(place: Place) -> Iterator[Bind]:
    """Makes a policy of its mutations, bound to the test's namespace; returns its name."""
    made: list[str] = []

    def make(*mutations: Any, resource: str = "configmaps", group: str = "", version: str = "v1", **spec: Any) -> str:
        name = f"{place.name}-{len(made)}"
        rule = {
            "apiGroups": [group],
            "apiVersions": [version],
            "operations": ["CREATE", "UPDATE"],
            "resources": [resource],
        }
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
        whole = {
            "matchConstraints": {"resourceRules": [rule]},
            "reinvocationPolicy": "Never",
            "mutations": mutations,
            **spec,
        }
        place.client.create(_POLICIES, {**head, "kind": "MutatingAdmissionPolicy", "spec": whole})
        selector = {"matchLabels": {"kubernetes.io/metadata.name": place.name}}
        bound = {"policyName": name, "matchResources": {"namespaceSelector": selector}}
        place.client.create(_BINDINGS, {**head, "kind": "MutatingAdmissionPolicyBinding", "spec": bound})
        made.append(name)
        return name

    yield make
    for name in made:
        assert place.client.call("DELETE", f"{_BINDINGS}/{name}")[0] == 200
        assert place.client.call("DELETE", f"{_POLICIES}/{name}")[0] == 200


def test_configurations_are_merged_and_later_mutations_see_earlier_ones(place: Place, bind: Bind) -> None:
    bind(
        applied("Object{metadata: Object.metadata{labels: {'by': 'policy'}}, data: {'one': '1'}}"),
        applied("Object{data: {'two': string(object.data.one) + '2'}}"),
        patched("[JSONPatch{op: 'add', path: '/data/three', value: string(object.data.two) + '3'}]"),
    )
    made = place.made("configmaps", config_map("x", own="0"))
    assert made["data"] == {"own": "0", "one": "1", "two": "12", "three": "123"}
    assert made["metadata"]["labels"] == {"by": "policy"}
    assert place.client.get(place.path("configmaps/x"))["data"] == made["data"]


def test_a_patch_whose_test_fails_changes_nothing(place: Place, bind: Bind) -> None:
    steps = (
        "JSONPatch{op: 'test', path: '/data/a', value: 'yes'}",
        "JSONPatch{op: 'add', path: '/data/' + jsonpatch.escapeKey('b~c'), value: '1'}",
        "JSONPatch{op: 'remove', path: '/data/b~0c'}",
        "JSONPatch{op: 'add', path: '/data/done', value: '1'}",
    )
    bind(patched(f"[{', '.join(steps)}]"))
    assert place.made("configmaps", config_map("no", a="no"))["data"] == {"a": "no"}
    assert place.made("configmaps", config_map("yes", a="yes"))["data"] == {"a": "yes", "done": "1"}


def test_what_is_added_is_defaulted(place: Place, bind: Bind) -> None:
    containers = "[Object.spec.initContainers{name: 'mesh', image: 'mesh:1', restartPolicy: 'Always'}]"
    bind(applied(f"Object{{spec: Object.spec{{initContainers: {containers}}}}}"), resource="pods")
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    made = place.made("pods", {**pod, "spec": {"containers": [{"name": "c", "image": "i"}]}})
    added = made["spec"]["initContainers"][0]
    assert (added["name"], added["imagePullPolicy"]) == ("mesh", "IfNotPresent")


@pytest.mark.parametrize(
    ("mutation", "why"),
    [
        (
            applied("Object{data: {'k': string(object.data.no)}}"),
            "expression 'Object{data: {'k': string(object.data.no)}}' resulted in error: no such key: no",
        ),
        (
            applied("Object{data: null}"),
            "error applying patch: failed to convert patch object to typed object: .data: expected map, got "
            "&{NULL_VALUE}",
        ),
        (
            applied("Object{metadata: Object.metadata{generation: 1u}}"),
            "error applying patch: failed to convert patch object to typed object: .metadata.generation: expected "
            "numeric (int or float), got uint64",
        ),
        (
            applied("Object{metadata: Object.metadata{generation: 1.5}}"),
            "unable to convert unstructured object to /v1, Kind=ConfigMap: cannot convert float64 to int64",
        ),
        (applied("Object{data: {1: 'x'}}"), "invalid return type: *dynamic.ObjectVal"),
        (
            patched("[JSONPatch{op: 'move', from: '/data/no', path: '/data/x'}]"),
            "JSON Patch: error in move for path: 'no': Unable to remove nonexistent key: no: missing value",
        ),
        (
            patched(
                "[JSONPatch{op: 'add', path: '/metadata/finalizers', value: []}, "
                "JSONPatch{op: 'add', path: '/metadata/finalizers/5', value: 'a'}]"
            ),
            "JSON Patch: error in add for path: '/metadata/finalizers/5': Unable to access invalid index: 5: invalid "
            "index referenced",
        ),
        (
            applied("Object{nosuch: 'x'}"),
            "error applying patch: failed to convert patch object to typed object: .nosuch: field not declared in "
            "schema",
        ),
        (
            applied("Object{metadata: Object.metadata{finalizers: ['a'], ownerReferences: [Object.data{}]}}"),
            'type mismatch: unexpected type name "Object.data", expected "Object.metadata.ownerReferences", which '
            "matches field name path from root Object type",
        ),
        (
            patched("[JSONPatch{op: 'remove', path: '/data/gone'}]"),
            "JSON Patch: error in remove for path: '/data/gone': Unable to remove nonexistent key: gone: missing value",
        ),
        (patched("[JSONPatch{op: 'bogus', path: '/data'}]"), "JSON Patch: Unexpected kind: bogus"),
    ],
)
def test_a_mutation_that_fails_refuses_the_write(place: Place, bind: Bind, mutation: Any, why: str) -> None:
    name = bind(mutation)
    status, answer = place.client.call("POST", place.path("configmaps"), config_map("x", a="1"))
    message = f"policy '{name}' with binding '{name}' denied request: {why}"
    assert (status, answer["reason"], answer["message"]) == (403, "Invalid", message)
    assert answer["details"]["causes"] == [{"message": message}]
    change = {"spec": {"failurePolicy": "Ignore"}}
    assert place.client.call("PATCH", f"{_POLICIES}/{name}", change, content_type=_MERGE)[0] == 200
    assert place.made("configmaps", config_map("x", a="1"))["data"] == {"a": "1"}


def test_what_is_replaced_whole_may_not_be_applied(place: Place, bind: Bind) -> None:
    containers = "[Object.spec.containers{name: 'c', args: ['x']}]"
    bind(applied(f"Object{{spec: Object.spec{{containers: {containers}}}}}"), resource="pods")
    pod: Any = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    pod["spec"] = {"containers": [{"name": "c", "image": "i"}]}
    why = "may not mutate atomic arrays, maps or structs: .spec.containers[0].args"
    assert place.refusal("pods", pod).endswith(f"invalid ApplyConfiguration: {why}")


def test_a_patch_may_not_make_what_does_not_fit_its_type(place: Place, bind: Bind) -> None:
    bind(patched("[JSONPatch{op: 'add', path: '/nosuch', value: 1}]"))
    status, answer = place.client.call("POST", place.path("configmaps"), config_map("x"))
    assert status == 500
    assert answer["message"] == 'Internal error occurred: strict decoding error: unknown field "nosuch"'


def test_a_policy_that_allows_it_runs_again_after_a_change(place: Place, bind: Bind) -> None:
    count = "Object{data: {'count': ('count' in object.data ? string(object.data.count) : '') + 'a'}}"
    bind(applied(count), reinvocationPolicy="IfNeeded")
    bind(applied("Object{data: {'never': ('never' in object.data ? string(object.data.never) : '') + 'b'}}"))
    made = place.made("configmaps", config_map("x", z="1"))
    assert made["data"] == {"count": "aa", "never": "b", "z": "1"}


def test_an_equivalent_version_is_changed_in_the_version_that_the_rule_names(place: Place, bind: Bind) -> None:
    change = "Object{spec: Object.spec{targetCPUUtilizationPercentage: 42}}"
    bind(applied(change), group="autoscaling", resource="horizontalpodautoscalers")
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    body: Any = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    body["spec"] = {"scaleTargetRef": target, "maxReplicas": 3}
    made = place.made("horizontalpodautoscalers", body, "apis/autoscaling/v2")
    metric = {"type": "Utilization", "averageUtilization": 42}
    assert made["apiVersion"] == "autoscaling/v2"
    assert {"type": "Resource", "resource": {"name": "cpu", "target": metric}} in made["spec"]["metrics"]


def test_a_scale_is_changed_as_a_scale(place: Place, bind: Bind) -> None:
    labels = {"app": "d"}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    place.made("deployments", body, "apis/apps/v1")
    bind(applied("Object{spec: Object.spec{replicas: 2}}"), group="apps", resource="deployments/scale")
    path = place.path("deployments/d/scale", "apis/apps/v1")
    status, answer = place.client.call("PATCH", path, {"spec": {"replicas": 9}}, content_type=_MERGE)
    assert (status, answer["spec"]["replicas"]) == (200, 2)


def test_custom_resources_are_changed_by_their_schema(place: Place, bind: Bind) -> None:
    group = f"{place.name}.example.com"
    items = {
        "type": "array",
        "items": {"type": "object", "required": ["id"], "properties": {"id": {"type": "string"}}},
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["id"],
    }
    properties = {"items": items, "note": {"type": "string"}}
    version = {"name": "v1", "served": True, "storage": True}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"carts.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "carts", "kind": "Cart"},
            "versions": [{**version, "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}}}],
        },
    }
    place.client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    change = "Object{items: [Object.items{id: 'b'}], note: 'seen'}"
    bind(applied(change), group=group, resource="carts")
    cart = {"apiVersion": f"{group}/v1", "kind": "Cart", "metadata": {"name": "c"}, "items": [{"id": "a"}]}
    made = place.made("carts", cart, f"apis/{group}/v1")
    assert (made["items"], made["note"]) == ([{"id": "a"}, {"id": "b"}], "seen")


def test_conditions_and_missing_params_leave_requests_alone(place: Place, bind: Bind) -> None:
    name = bind(
        applied("Object{data: {'color': string(params.data.color)}}"),
        matchConditions=[{"name": "c", "expression": "object.metadata.name != 'skip'"}],
        paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
    )
    place.made("configmaps", config_map("skip", color="blue"))
    change: Any = {"spec": {"paramRef": {"name": "skip", "parameterNotFoundAction": "Deny"}}}
    assert place.client.call("PATCH", f"{_BINDINGS}/{name}", change, content_type=_MERGE)[0] == 200
    assert place.made("configmaps", config_map("x"))["data"] == {"color": "blue"}
    change["spec"]["paramRef"]["name"] = "nosuch"
    assert place.client.call("PATCH", f"{_BINDINGS}/{name}", change, content_type=_MERGE)[0] == 200
    why = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert place.refusal("configmaps", config_map("y")).endswith(f"denied request: {why}")


def test_an_equivalent_version_of_a_custom_resource_is_converted_there_and_back(
    new_server: Callable[..., Server], tmp_path: Path
) -> None:
    (tmp_path / "sizes.py").write_text(
        "def convert(obj, api_version):\n"
        "    old, new = ('size', 'bytes') if api_version.endswith('v2') else ('bytes', 'size')\n"
        "    obj[new] = obj.pop(old)\n"
        "    return obj\n"
    )
    flags = ("--conversion-function", "disks.example.com=sizes:convert")
    server = new_server(*flags, environment={"PYTHONPATH": str(tmp_path)}).start()

    def version(name: str, field: str) -> Any:
        schema = {"type": "object", "properties": {field: {"type": "integer"}}}
        return {"name": name, "served": True, "storage": name == "v1", "schema": {"openAPIV3Schema": schema}}

    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "disks.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "disks", "kind": "Disk"},
            "versions": [version("v1", "size"), version("v2", "bytes")],
        },
    }
    rule = {"apiGroups": ["example.com"], "apiVersions": ["v2"], "operations": ["*"], "resources": ["disks"]}
    spec = {
        "matchConstraints": {"resourceRules": [{**rule, "operations": ["CREATE"]}]},
        "reinvocationPolicy": "Never",
        "mutations": [applied("Object{bytes: object.bytes + 1}")],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
    disk = {"apiVersion": "example.com/v1", "kind": "Disk", "metadata": {"name": "d"}, "size": 41}
    with server.client() as client:
        client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
        client.create(_POLICIES, {**head, "kind": "MutatingAdmissionPolicy", "spec": spec})
        client.create(_BINDINGS, {**head, "kind": "MutatingAdmissionPolicyBinding", "spec": {"policyName": "p"}})
        made = client.create("/apis/example.com/v1/disks", disk)
        assert (made["apiVersion"], made["size"]) == ("example.com/v1", 42)
        assert client.get("/apis/example.com/v2/disks/d")["bytes"] == 42
