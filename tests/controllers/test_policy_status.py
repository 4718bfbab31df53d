"""Type checks of validating policies, told in their status."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from kubernetes import config, watch
from kubernetes.client import AdmissionregistrationV1Api

from tests.server_process import Client, Server

PATIENCE = 30
_PATH = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies"


@pytest.fixture
def server(new_server: Callable[..., Server]) -> Server:
    return new_server("--in-process-controllers=validatingadmissionpolicy-status-controller").start()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as client:
        yield client


def rule(group: str, resource: str, *, version: str = "v1") -> Any:
    return {"apiGroups": [group], "apiVersions": [version], "operations": ["*"], "resources": [resource]}


def policy(name: str, rules: list[Any], *expressions: str, **spec: Any) -> Any:
    validations = [{"expression": text} for text in expressions]
    whole = {"matchConstraints": {"resourceRules": rules}, "validations": validations, **spec}
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy"}
    return {**head, "metadata": {"name": name}, "spec": whole}


def warnings(server: Server, name: str, generation: int = 1) -> dict[str, str]:
    """By the field they are about, once the controller has seen that generation."""
    with config.new_client_from_config(str(server.kubeconfig())) as found:
        api = AdmissionregistrationV1Api(found)
        stream = watch.Watch().stream(
            api.list_validating_admission_policy, field_selector=f"metadata.name={name}", timeout_seconds=PATIENCE
        )
        for event in stream:
            status = event["raw_object"].get("status") or {}
            if status.get("observedGeneration") == generation:
                listed = (status.get("typeChecking") or {}).get("expressionWarnings") or []
                return {each["fieldRef"]: each["warning"] for each in listed}
    raise AssertionError(f"the policy {name} was never checked")


def test_an_unknown_field_is_told_for_each_kind_that_lacks_it(server: Server, client: Client) -> None:
    rules = [rule("apps", "deployments"), rule("", "configmaps")]
    client.create(_PATH, policy("typo", rules, "object.spec.replicas > 1", "has(object.metadata.labels)"))
    found = warnings(server, "typo")
    assert list(found) == ["spec.validations[0].expression"]
    assert found["spec.validations[0].expression"] == (
        "/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'spec'\n | object.spec.replicas > 1\n | ......^\n"
    )


def test_a_wrong_type_is_told_until_it_is_corrected(server: Server, client: Client) -> None:
    made = client.create(_PATH, policy("wrong", [rule("apps", "deployments")], "object.spec.replicas > '1'"))
    assert "found no matching overload for '_>_'" in warnings(server, "wrong")["spec.validations[0].expression"]
    made = client.get(f"{_PATH}/wrong")
    made["spec"]["validations"][0]["expression"] = "object.spec.replicas > 1"
    status, answer = client.call("PUT", f"{_PATH}/wrong", made)
    assert status == 200, answer
    assert warnings(server, "wrong", 2) == {}


def test_variables_params_and_custom_resources_have_their_types(server: Server, client: Client) -> None:
    schema = {"type": "object", "properties": {"size": {"type": "integer"}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "disks.example.com"},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {"plural": "disks", "kind": "Disk"},
            "versions": [version],
        },
    }
    client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    client.create(
        _PATH,
        policy(
            "custom",
            [rule("example.com", "disks")],
            "variables.size > 1 && object.metadata.name != ''",
            "variables.size == 'large'",
            "params.data.nosuch == '' || params.nosuch == ''",
            variables=[{"name": "size", "expression": "object.size"}],
            paramKind={"apiVersion": "v1", "kind": "ConfigMap"},
        ),
    )
    found = warnings(server, "custom")
    assert list(found) == ["spec.validations[1].expression", "spec.validations[2].expression"]
    assert found["spec.validations[2].expression"].count("undefined field") == 1


def test_wildcards_and_what_is_not_served_are_not_checked(server: Server, client: Client) -> None:
    rules = [rule("*", "deployments"), rule("nosuch.example.com", "things"), rule("apps", "deployments/scale")]
    client.create(_PATH, policy("any", rules, "object.nosuch == 1"))
    assert warnings(server, "any") == {}
