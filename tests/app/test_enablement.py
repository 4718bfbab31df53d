"""What is served: --runtime-config, --feature-gates and --emulated-version, seen by clients."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.server_process import Client, Server

NewServer = Callable[..., Server]
PODS = "/api/v1/namespaces/default/pods"


def served(client: Client, group_version: str) -> set[str]:
    return {resource["name"] for resource in client.get(f"/apis/{group_version}")["resources"]}


def groups(client: Client) -> set[str]:
    return {group["name"] for group in client.get("/apis")["groups"]}


def a_pod(name: str, **container: Any) -> Any:
    return {
        "metadata": {"name": name},
        "spec": {
            "automountServiceAccountToken": False,
            "containers": [{"name": "c", "image": "i", **container}],
            "resources": {"limits": {"cpu": "1"}},
        },
    }


def with_account(client: Client) -> None:
    client.create("/api/v1/namespaces/default/serviceaccounts", {"metadata": {"name": "default"}})


def test_the_runtime_configuration_turns_versions_and_resources_off(new_server: NewServer) -> None:
    server = new_server("--runtime-config=apps/v1=false,batch/v1/cronjobs=false,autoscaling/v1=false").start()
    with server.client() as client:
        assert client.text("/apis/apps/v1/deployments")[0] == 404
        assert client.text("/apis/apps/v1")[0] == 404
        assert "apps" not in groups(client)
        assert served(client, "batch/v1") == {"jobs", "jobs/status"}
        assert client.text("/apis/batch/v1/cronjobs")[0] == 404
        [autoscaling] = [g for g in client.get("/apis")["groups"] if g["name"] == "autoscaling"]
        assert [version["version"] for version in autoscaling["versions"]] == ["v2"]
        services = client.get("/apis/apiregistration.k8s.io/v1/apiservices")["items"]
        assert "v1.apps" not in {service["metadata"]["name"] for service in services}
        assert not any("apps/v1" in path for path in client.get("/openapi/v3")["paths"])


def test_what_is_named_counts_more_than_what_is_said_of_all(new_server: NewServer) -> None:
    needed = (f"{group}.k8s.io/v1=true" for group in ("apiregistration", "networking", "discovery", "coordination"))
    config = ",".join(["api/all=false", "v1=true", "apps/v1/deployments=true", *needed])
    server = new_server(f"--runtime-config={config}", "--enable-priority-and-fairness=false").start()
    with server.client() as client:
        assert client.get("/api/v1/namespaces/default")["kind"] == "Namespace"
        assert served(client, "apps/v1") == {"deployments", "deployments/scale", "deployments/status"}
        assert "batch" not in groups(client)


def test_fields_of_a_feature_that_is_off_are_dropped_unless_they_were_there(new_server: NewServer) -> None:
    server = new_server().start()
    with server.client() as client:
        with_account(client)
        made = client.create(PODS, a_pod("before"))
        assert made["spec"]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
    assert server.stop() == 0

    server.start("--feature-gates=PodLevelResources=false,StorageVersionMigrator=false")
    with server.client() as client:
        assert "resources" not in client.create(PODS, a_pod("after"))["spec"]
        labelled = {**client.get(f"{PODS}/before"), "metadata": {"name": "before", "labels": {"a": "b"}}}
        status, changed = client.call("PUT", f"{PODS}/before", labelled)
        assert status == 200, changed
        assert changed["spec"]["resources"] == {"limits": {"cpu": "1"}, "requests": {"cpu": "1"}}
        assert client.text("/apis/storagemigration.k8s.io/v1/storageversionmigrations")[0] == 404


def test_an_older_version_is_emulated(new_server: NewServer) -> None:
    server = new_server("--emulated-version=1.35").start()
    with server.client() as client:
        version = client.get("/version")
        assert (version["minor"], version["emulationMinor"], version["minCompatibilityMinor"]) == ("37", "35", "34")
        admission = served(client, "admissionregistration.k8s.io/v1")
        assert "validatingadmissionpolicies" in admission
        assert "mutatingadmissionpolicies" not in admission
        assert "storagemigration.k8s.io" not in groups(client)
        assert client.text("/apis/certificates.k8s.io/v1/clustertrustbundles")[0] == 404


def test_newer_apis_can_be_had_all_the_same(new_server: NewServer) -> None:
    server = new_server("--emulated-version=kube=1.35", "--emulation-forward-compatible").start()
    with server.client() as client:
        assert client.get("/version")["emulationMinor"] == "35"
        assert "mutatingadmissionpolicies" in served(client, "admissionregistration.k8s.io/v1")
        assert "clustertrustbundles" not in served(client, "certificates.k8s.io/v1"), "its gate is off in 1.35"
    assert server.stop() == 0

    named = "--runtime-config=admissionregistration.k8s.io/v1/mutatingadmissionpolicies=true"
    server.start("--emulation-forward-compatible=false", "--runtime-config-emulation-forward-compatible", named)
    with server.client() as client:
        admission = served(client, "admissionregistration.k8s.io/v1")
        assert "mutatingadmissionpolicies" in admission
        assert "mutatingadmissionpolicybindings" not in admission
