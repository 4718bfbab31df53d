"""Plugins as flags and a configuration file turn them on: a server of its own for those that are off by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.server_process import Client, Server

MERGE = {"content-type": "application/merge-patch+json"}
CONFIGURATION = """\
apiVersion: apiserver.config.k8s.io/v1
kind: AdmissionConfiguration
plugins:
- name: PodSecurity
  configuration:
    apiVersion: pod-security.admission.config.k8s.io/v1
    kind: PodSecurityConfiguration
    defaults: {enforce: baseline}
    exemptions: {namespaces: [kube-system]}
- name: EventRateLimit
  path: events.yaml
"""
EVENTS = """\
apiVersion: eventratelimit.admission.k8s.io/v1alpha1
kind: Configuration
limits: [{type: Namespace, qps: 1, burst: 1}]
"""
ENABLED = (
    "NodeRestriction,AlwaysPullImages,NamespaceAutoProvision,EventRateLimit,OwnerReferencesPermissionEnforcement,"
    "PodNodeSelector"
)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    folder = tmp_path_factory.mktemp("admission")
    (folder / "admission.yaml").write_text(CONFIGURATION)
    (folder / "events.yaml").write_text(EVENTS)
    server = Server(
        folder,
        "--authorization-mode=Node,RBAC",
        f"--enable-admission-plugins={ENABLED}",
        "--disable-admission-plugins=ServiceAccount",
        f"--admission-control-config-file={folder / 'admission.yaml'}",
    )
    server.start()
    yield server
    server.end()


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    with server.client() as client:
        yield client


def pod(name: str = "p", **spec: Any) -> dict[str, Any]:
    given = {"containers": [{"name": "c", "image": "x:1"}], **spec}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": given}


def test_a_namespace_comes_to_be_with_what_is_created_in_it(client: Client) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    client.create("/api/v1/namespaces/provided/configmaps", body)
    status, found = client.call("GET", "/api/v1/namespaces/provided")
    assert (status, found["status"]["phase"]) == (200, "Active")


def test_a_namespace_that_can_not_come_to_be_forbids_what_is_created_in_it(client: Client) -> None:
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    status, refusal = client.call("POST", "/api/v1/namespaces/Bad_Name/configmaps", body)
    assert status == 403
    assert refusal["message"].startswith('configmaps "a" is forbidden: Namespace "Bad_Name" is invalid: metadata.name')


@pytest.mark.parametrize(
    ("selector", "why"),
    [
        ("a=b=c", "invalid selector: [a b c]"),
        ("a!=b", '<nil>: Invalid value: "a!": name part must consist of'),
        ("a=b!", '[a]: Invalid value: "b!": a valid label must be'),
    ],
)
def test_a_selector_of_nodes_that_can_not_be_read_fails(client: Client, selector: str, why: str) -> None:
    annotations = {"scheduler.alpha.kubernetes.io/node-selector": selector}
    made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"generateName": "nodes-", "annotations": annotations}}
    name = client.create("/api/v1/namespaces", made)["metadata"]["name"]
    status, refusal = client.call("POST", f"/api/v1/namespaces/{name}/pods", pod())
    assert (status, refusal["message"].startswith(why)) == (500, True)


def test_a_class_without_a_name_is_no_class(client: Client) -> None:
    status, refusal = client.call("POST", "/api/v1/namespaces/default/pods", pod(runtimeClassName=""))
    assert (status, refusal["message"]) == (500, "resource name may not be empty")


def test_images_are_always_pulled(client: Client) -> None:
    made = client.create("/api/v1/namespaces/default/pods", pod("pulled"))
    assert made["spec"]["containers"][0]["imagePullPolicy"] == "Always"


def test_a_plugin_that_is_turned_off_does_nothing(client: Client) -> None:
    made = client.create("/api/v1/namespaces/default/pods", pod("bare"))
    assert "serviceAccountName" not in made["spec"]


def test_the_default_level_holds_where_labels_say_nothing_and_exempt_namespaces_are_free(client: Client) -> None:
    status, answer = client.call("POST", "/api/v1/namespaces/default/pods", pod("host", hostPID=True))
    assert (status, answer["message"]) == (
        403,
        'pods "host" is forbidden: violates PodSecurity "baseline:latest": host namespaces (hostPID=true)',
    )
    client.create("/api/v1/namespaces/kube-system/pods", pod("host", hostPID=True))


def test_events_beyond_the_rate_are_too_many_requests(client: Client) -> None:
    client.create("/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "busy"}})
    about = {"kind": "Pod", "name": "p", "namespace": "busy"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"generateName": "e-"}, "involvedObject": about}
    answers = [client.call("POST", "/api/v1/namespaces/busy/events", event) for _ in range(3)]
    assert answers[0][0] == 201
    assert answers[-1][0] == 429
    assert answers[-1][1]["message"] == "Too many requests: limit reached on type Namespace for key busy"


def test_a_node_writes_its_own_pods_only(server: Server, client: Client) -> None:
    client.create("/api/v1/namespaces/default/pods", pod("elsewhere", nodeName="other"))
    with server.client("system:node:mine", "system:nodes") as node:
        status, answer = node.call("POST", "/api/v1/namespaces/default/pods", pod("made", nodeName="mine"))
        assert status == 403 and "can only create mirror pods" in answer["message"]
        status, answer = node.call("DELETE", "/api/v1/namespaces/default/pods/elsewhere")
        assert status == 403 and "can only delete pods with spec.nodeName set to itself" in answer["message"]
        status, answer = node.call("POST", "/api/v1/namespaces/default/pods/nosuch/eviction", {})
        assert (status, answer["message"]) == (404, 'pod "nosuch" not found')


def test_a_node_does_not_label_itself_into_what_is_restricted(server: Server) -> None:
    with server.client("system:node:mine", "system:nodes") as node:
        labels = {"node-restriction.kubernetes.io/x": "y", "kubernetes.io/os": "linux", "mine": "1"}
        body = {"apiVersion": "v1", "kind": "Node", "metadata": {"name": "mine", "labels": labels}}
        status, answer = node.call("POST", "/api/v1/nodes", body)
        assert (status, answer["message"].partition(": ")[2]) == (
            403,
            'node "mine" is not allowed to set the following labels: node-restriction.kubernetes.io/x',
        )


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("kind: Wrong\napiVersion: v1\n", 'no kind "Wrong" in version "v1" is known'),
        ("[", "unable to decode"),
        ("plugins: []\n", "Object 'Kind' is missing"),
    ],
)
def test_a_configuration_that_cannot_be_read_ends_the_start(
    new_server: Callable[..., Server], tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "admission.yaml"
    file.write_text(text)
    server = new_server(f"--admission-control-config-file={file}").launch()
    assert server.exit_status() != 0
    assert problem in server.said


def test_a_plugin_that_lacks_its_configuration_ends_the_start(new_server: Callable[..., Server]) -> None:
    server = new_server("--enable-admission-plugins=EventRateLimit").launch()
    assert server.exit_status() != 0
    assert 'failed to initialize admission plugin \\"EventRateLimit\\"' in server.said


def test_a_plugin_of_former_releases_is_refused_with_what_to_use_instead(new_server: Callable[..., Server]) -> None:
    server = new_server("--enable-admission-plugins=PodSecurityPolicy").launch()
    assert server.exit_status() != 0
    assert "use PodSecurity" in server.said
