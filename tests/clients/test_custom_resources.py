"""Custom resources of the size that real projects have, driven by kubectl and lightkube."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any

import pytest
import yaml
from lightkube import ApiError, KubeConfig
from lightkube import Client as Lightkube
from lightkube.generic_resource import create_namespaced_resource
from lightkube.models.meta_v1 import ObjectMeta
from lightkube.types import PatchType

from tests.clients import definitions
from tests.clients.kubectl import Kubectl
from tests.server_process import Client, Server


@pytest.fixture(scope="module")
def group() -> str:
    return f"c{uuid.uuid4().hex[:8]}.example.com"


@pytest.fixture(scope="module")
def admin(shared_server: Server) -> Iterator[Client]:
    with shared_server.client() as client:
        yield client


@pytest.fixture(scope="module")
def defined(admin: Client, group: str) -> Iterator[str]:
    """The group of all definitions, which are there."""
    path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
    made = [
        definitions.certificate(group),
        definitions.rollout(group, admin),
        definitions.route(group),
        definitions.composite(group),
    ]
    for each in made:
        admin.create(path, each)
    yield group
    for each in made:
        admin.call("DELETE", f"{path}/{each['metadata']['name']}")


def certificate(group: str, **spec: Any) -> str:
    given = {"secretName": "web-tls", "dnsNames": ["example.com"], "issuerRef": {"name": "main"}, **spec}
    return manifest(group, "v1", "Certificate", "web", given)


def manifest(group: str, version: str, kind: str, name: str, spec: Any, **more: Any) -> str:
    head = {"apiVersion": f"{group}/{version}", "kind": kind, "metadata": {"name": name, **more}}
    return json.dumps({**head, "spec": spec})


def rollout(group: str, image: str = "web:1", **spec: Any) -> str:
    container = {
        "name": "web",
        "image": image,
        "ports": [{"containerPort": 80}],
        "resources": {"limits": {"cpu": "1", "memory": "64Mi"}},
        "livenessProbe": {"httpGet": {"path": "/", "port": "http"}},
    }
    template = {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [container]}}
    given = {"selector": {"matchLabels": {"app": "web"}}, "template": template, **spec}
    return manifest(group, "v1alpha1", "Rollout", "web", given)


def test_a_definition_is_waited_for_and_listed(kubectl: Kubectl, defined: str) -> None:
    name = f"certificates.{defined}"
    kubectl("wait", "--for=condition=Established", f"crd/{name}", "--timeout=20s")
    assert name in kubectl("get", "crd", "-o", "name")
    assert kubectl("api-resources", f"--api-group={defined}", "--categories=own", "-o", "name") == f"{name}\n"
    assert json.loads(kubectl("get", "apiservice", f"v1.{defined}", "-o", "json"))["spec"]["group"] == defined


def test_deep_fields_are_explained(kubectl: Kubectl, defined: str) -> None:
    told = kubectl("explain", "certificates", "--api-version", f"{defined}/v1", "--recursive")
    assert "rotationPolicy" in told and "passwordSecretRef" in told
    field = kubectl("explain", "rollouts.spec.template.spec.containers.livenessProbe.httpGet.port")
    assert "FIELD: port" in field
    path = kubectl("explain", "routes.spec.rules.matches.path.type", "--api-version", f"{defined}/v1")
    assert path.split("ENUM:")[1].split()[:3] == ["Exact", "PathPrefix", "RegularExpression"]


def test_a_certificate_from_creation_to_deletion(kubectl: Kubectl, defined: str) -> None:
    kubectl("apply", "-f", "-", text=certificate(defined))
    found = yaml.safe_load(kubectl("get", "cert", "web", "-o", "yaml"))
    assert found["spec"]["privateKey"] == {"algorithm": "RSA", "encoding": "PKCS8"}
    assert found["spec"]["issuerRef"] == {"name": "main", "kind": "Issuer"}
    conditions = [{"type": "Ready", "status": "True", "reason": "Issued", "lastTransitionTime": "2026-01-01T00:00:00Z"}]
    patch = json.dumps({"status": {"conditions": conditions, "revision": 1}, "spec": {"secretName": "ignored"}})
    kubectl("patch", "cert", "web", "--subresource=status", "--type=merge", "-p", patch)
    kubectl("wait", "--for=condition=Ready", "cert/web", "--timeout=20s")
    kubectl("wait", "--for=jsonpath={.status.revision}=1", "cert/web", "--timeout=20s")
    header, row = kubectl("get", "cert").splitlines()
    assert header.split() == ["NAME", "READY", "SECRET", "AGE"]
    assert row.split()[:3] == ["web", "True", "web-tls"]
    assert kubectl("get", "cert", "--field-selector=spec.secretName=other", "-o", "name") == ""
    kubectl("delete", "cert", "web", "--timeout=20s")
    assert "not found" in kubectl.run("get", "cert", "web").stderr


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ({"dnsNames": []}, "it must be for somebody"),
        ({"privateKey": {"size": 1000}}, "not a size of RSA keys"),
        ({"privateKey": {"algorithm": "DSA"}}, 'Unsupported value: "DSA"'),
        ({"duration": "1h", "renewBefore": "2h"}, "renewal comes before the end"),
        ({"secretName": "Not A Name"}, "should match"),
        ({"ipAddresses": ["nowhere"]}, "must be of type ipv4"),
        ({"usages": ["anything"]}, "spec.usages[0]: Unsupported value"),
        ({"wrong": 1}, 'unknown field "spec.wrong"'),
    ],
)
def test_a_wrong_certificate_is_refused_with_the_reason(
    kubectl: Kubectl, defined: str, spec: dict[str, Any], message: str
) -> None:
    ran = kubectl.run("create", "-f", "-", text=certificate(defined, **spec))
    assert ran.returncode == 1
    assert message in ran.stderr


def test_a_rule_about_the_former_state_holds_for_changes(kubectl: Kubectl, defined: str) -> None:
    kubectl("create", "-f", "-", text=certificate(defined))
    patch = '[{"op": "replace", "path": "/spec/issuerRef/kind", "value": "other"}]'
    ran = kubectl.run("patch", "cert", "web", "--type=json", "-p", patch)
    assert "the kind of issuer stays" in ran.stderr
    kubectl("patch", "cert", "web", "--type=json", "-p", patch.replace("kind", "name"))
    assert kubectl.json("get", "cert", "web")["spec"]["issuerRef"]["name"] == "other"


def test_a_whole_pod_inside_is_defaulted_merged_and_owned(kubectl: Kubectl, defined: str) -> None:
    kubectl("apply", "--server-side", "--field-manager=one", "-f", "-", text=rollout(defined))
    other = rollout(defined, image="web:2")
    ran = kubectl.run("apply", "--server-side", "--field-manager=two", "-f", "-", text=other)
    at = '.spec.template.spec.containers[name="web"].image'
    assert f'conflict with "one": {at}' in ran.stderr
    kubectl("apply", "--server-side", "--field-manager=two", "--force-conflicts", "-f", "-", text=other)
    found = kubectl.json("get", "ro", "web", "--show-managed-fields")
    (container,) = found["spec"]["template"]["spec"]["containers"]
    assert container["image"] == "web:2"
    assert container["ports"] == [{"containerPort": 80, "protocol": "TCP"}]
    assert (found["spec"]["replicas"], found["metadata"]["generation"]) == (1, 2)
    assert {entry["manager"] for entry in found["metadata"]["managedFields"]} == {"one", "two"}
    again = kubectl("apply", "--server-side", "--field-manager=two", "-f", "-", "-o", "json", text=other)
    assert json.loads(again)["metadata"]["resourceVersion"] == found["metadata"]["resourceVersion"]


def test_a_workload_of_ones_own_is_scaled(kubectl: Kubectl, defined: str) -> None:
    kubectl("create", "-f", "-", text=rollout(defined, strategy={"canary": {"steps": [{"setWeight": 20}]}}))
    kubectl("scale", "ro/web", "--current-replicas=1", "--replicas=4")
    found = kubectl.json("get", "ro", "web")
    assert found["spec"]["replicas"] == 4
    assert found["spec"]["strategy"]["canary"] == {"maxSurge": "25%", "steps": [{"setWeight": 20}]}
    status = json.dumps({"status": {"replicas": 4, "selector": "app=web"}})
    kubectl("patch", "ro", "web", "--subresource=status", "--type=merge", "-p", status)
    scale = kubectl.json("get", "ro", "web", "--subresource=scale")
    assert scale["status"] == {"replicas": 4, "selector": "app=web"}
    steps = [{"setWeight": 20, "pause": {}}, {}]
    patch = json.dumps({"spec": {"strategy": {"canary": {"steps": steps}}}})
    ran = kubectl.run("patch", "ro", "web", "--type=merge", "-p", patch)
    assert ran.stderr.count("exactly one of setWeight and pause") == 2


def test_a_wrong_field_deep_in_the_pod_is_named(kubectl: Kubectl, defined: str) -> None:
    text = rollout(defined).replace("livenessProbe", "livelinessProbe")
    ran = kubectl.run("create", "-f", "-", text=text)
    assert 'unknown field "spec.template.spec.containers[0].livelinessProbe"' in ran.stderr
    wrong = rollout(defined).replace('"containerPort": 80', '"containerPort": "80"')
    ran = kubectl.run("create", "-f", "-", text=wrong)
    assert "spec.template.spec.containers[0].ports[0].containerPort: Invalid value" in ran.stderr


def test_unions_and_defaults_in_lists_of_a_route(kubectl: Kubectl, defined: str) -> None:
    kubectl("apply", "-f", "-", text=manifest(defined, "v1", "Route", "plain", {"parentRefs": [{"name": "main"}]}))
    spec = kubectl.json("get", "routes", "plain")["spec"]
    assert spec["parentRefs"] == [{"name": "main", "kind": "Gateway"}]
    assert spec["rules"] == [{"matches": [{"path": {"type": "PathPrefix", "value": "/"}}]}]
    redirect = {"type": "Redirect", "redirect": {"hostname": "example.com"}}
    backend = {"name": "web", "port": 80}
    both = {"rules": [{"filters": [redirect], "backendRefs": [backend]}]}
    ran = kubectl.run("apply", "-f", "-", text=manifest(defined, "v1", "Route", "both", both))
    assert "spec.rules[0]: Invalid value: a redirect has no backends" in ran.stderr
    alone = {"rules": [{"filters": [{"type": "Headers", "redirect": {}}], "backendRefs": [{"name": "web"}]}]}
    ran = kubectl.run("apply", "-f", "-", text=manifest(defined, "v1", "Route", "alone", alone))
    for message in ("headers go with", "redirect goes with", "Must have port for Service reference"):
        assert message in ran.stderr
    twice = {"parentRefs": [{"name": "main"}, {"name": "main"}]}
    ran = kubectl.run("apply", "-f", "-", text=manifest(defined, "v1", "Route", "twice", twice))
    assert "sectionName must be unique" in ran.stderr


def test_a_composite_is_one_object_in_every_version(kubectl: Kubectl, defined: str) -> None:
    name = f"db-{uuid.uuid4().hex[:6]}"
    base = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "inner"}, "data": {"a": "b"}}
    spec = {"parameters": {"size": {"gb": 1}}, "resources": [{"name": "inner", "base": base}]}
    ran = kubectl.run("apply", "-f", "-", text=manifest(defined, "v1alpha1", "Composite", name, spec))
    assert "is deprecated; use" in ran.stderr
    found = kubectl.json("get", f"composites.v1beta1.{defined}", name)
    assert found["apiVersion"] == f"{defined}/v1beta1"
    policies = {"compositionUpdatePolicy": "Automatic", "deletionPolicy": "Delete"}
    assert found["spec"] == {**spec, **policies}
    assert f"composite.{defined}/{name}" in kubectl("get", "composed", "-o", "name")
    kubectl("delete", "composite", name, "--timeout=20s")


def test_lightkube_with_a_class_for_it(shared_server: Server, own_namespace: str, defined: str) -> None:
    kind = create_namespaced_resource(defined, "v1alpha1", "Rollout", "rollouts")
    settings = KubeConfig.from_file(str(shared_server.kubeconfig()))
    with Lightkube(config=settings, namespace=own_namespace, field_manager="tests") as client:
        given = json.loads(rollout(defined))["spec"]
        created = client.create(kind(metadata=ObjectMeta(name="web"), spec=given))
        assert created.spec["template"]["spec"]["containers"][0]["ports"][0]["protocol"] == "TCP"
        applied = kind(metadata=ObjectMeta(name="web"), spec={"replicas": 3})
        with pytest.raises(ApiError) as conflict:
            client.apply(applied, field_manager="other")
        assert conflict.value.status.reason == "Conflict"
        client.patch(kind, "web", {"spec": {"replicas": 3}}, patch_type=PatchType.MERGE)
        assert client.get(kind.Scale, "web").spec.replicas == 3
        ready = {"status": {"conditions": [{"type": "Ready", "status": "True"}]}}
        client.patch(kind.Status, "web", ready, patch_type=PatchType.MERGE)
        client.wait(kind, "web", for_conditions=["Ready"])
        client.delete(kind, "web")
        assert list(client.list(kind)) == []
