"""The objects that every cluster has: there when the server is ready, mended on a restart, users' changes kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kapi.kube.reconcile import reconciled_binding, reconciled_flow_control, reconciled_role
from tests.server_process import Client, Server

RBAC = "/apis/rbac.authorization.k8s.io/v1"
FLOW = "/apis/flowcontrol.apiserver.k8s.io/v1"
AUTO = "rbac.authorization.kubernetes.io/autoupdate"


@pytest.fixture
def server(new_server: Callable[..., Server]) -> Server:
    return new_server().start()


def restarted(server: Server) -> Server:
    assert server.stop() == 0
    return server.start()


def changed(client: Client, path: str, **fields: Any) -> Any:
    found = client.get(path)
    found["metadata"].setdefault("annotations", {}).update(fields.pop("annotations", {}))
    status, body = client.call("PUT", path, {**found, **fields})
    assert status == 200, body
    return body


def test_a_fresh_server_has_roles_levels_and_classes_when_it_is_ready(shared_server: Server) -> None:
    with shared_server.client() as client:
        admin = client.get(f"{RBAC}/clusterroles/cluster-admin")
        assert admin["rules"] == [
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["*"], "nonResourceURLs": ["*"]},
        ]
        assert admin["metadata"]["uid"] and admin["metadata"]["creationTimestamp"]
        [manager] = admin["metadata"]["managedFields"]
        assert (manager["manager"], manager["time"]) == ("kube-apiserver", admin["metadata"]["creationTimestamp"])
        assert len(client.get(f"{RBAC}/clusterroles")["items"]) >= 70
        assert client.get(f"{RBAC}/namespaces/kube-system/roles")["items"]
        assert client.get(f"{FLOW}/flowschemas/catch-all")["status"]["conditions"][0]["status"] == "False"
        assert client.get("/apis/scheduling.k8s.io/v1/priorityclasses/system-node-critical")["value"] == 2_000_001_000


def test_what_was_deleted_or_taken_away_is_back_after_a_restart(server: Server) -> None:
    with server.client() as client:
        client.call("DELETE", f"{RBAC}/clusterroles/view")
        changed(client, f"{RBAC}/clusterroles/system:basic-user", rules=[])
        changed(client, f"{RBAC}/clusterrolebindings/system:basic-user", subjects=[])
        before = client.get(f"{RBAC}/clusterroles/edit")["metadata"]["resourceVersion"]
    with restarted(server).client() as client:
        assert client.get(f"{RBAC}/clusterroles/view")["aggregationRule"]
        assert client.get(f"{RBAC}/clusterroles/system:basic-user")["rules"]
        assert client.get(f"{RBAC}/clusterrolebindings/system:basic-user")["subjects"]
        assert client.get(f"{RBAC}/clusterroles/edit")["metadata"]["resourceVersion"] == before


def test_what_was_added_or_opted_out_stays_after_a_restart(server: Server) -> None:
    extra = {"verbs": ["get"], "apiGroups": [""], "resources": ["extras"]}
    with server.client() as client:
        rules = client.get(f"{RBAC}/clusterroles/system:discovery")["rules"]
        changed(client, f"{RBAC}/clusterroles/system:discovery", rules=[*rules, extra])
        changed(client, f"{RBAC}/clusterroles/system:basic-user", rules=[extra], annotations={AUTO: "false"})
        client.call("DELETE", f"{RBAC}/clusterrolebindings/system:discovery")
        other = {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"}
        client.create(f"{RBAC}/clusterrolebindings", {"metadata": {"name": "system:discovery"}, "roleRef": other})
    with restarted(server).client() as client:
        assert client.get(f"{RBAC}/clusterroles/system:discovery")["rules"] == [*rules, extra]
        assert client.get(f"{RBAC}/clusterroles/system:basic-user")["rules"] == [extra]
        # A binding of that name to another role is no longer the one that every cluster has: it is made anew.
        assert client.get(f"{RBAC}/clusterrolebindings/system:discovery")["roleRef"]["name"] == "system:discovery"


def test_a_suggested_level_follows_until_somebody_says_not_to(server: Server) -> None:
    path = f"{FLOW}/prioritylevelconfigurations"
    with server.client() as client:
        for name, follows in (("workload-low", "true"), ("global-default", "false")):
            spec = client.get(f"{path}/{name}")["spec"]
            spec["limited"]["nominalConcurrencyShares"] = 7
            changed(client, f"{path}/{name}", spec=spec, annotations={"apf.kubernetes.io/autoupdate-spec": follows})
    with restarted(server).client() as client:
        shares = [
            client.get(f"{path}/{name}")["spec"]["limited"]["nominalConcurrencyShares"]
            for name in ("workload-low", "global-default")
        ]
        assert shares == [100, 7]


def test_what_only_says_that_it_is_suggested_goes(server: Server) -> None:
    path, auto = f"{FLOW}/prioritylevelconfigurations", "apf.kubernetes.io/autoupdate-spec"
    spec = {"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}}
    with server.client() as client:
        for name, annotations in (("old", {auto: "true"}), ("mine", {auto: "false"}), ("plain", {})):
            client.create(path, {"metadata": {"name": name, "annotations": annotations}, "spec": spec})
        client.call("DELETE", f"{path}/workload-low")
        client.call("DELETE", f"{FLOW}/flowschemas/probes")
    with restarted(server).client() as client:
        names = {level["metadata"]["name"] for level in client.get(path)["items"]}
        assert {"mine", "plain", "workload-low"} <= names
        assert "old" not in names
        assert client.get(f"{FLOW}/flowschemas/probes")["spec"]["matchingPrecedence"] == 2


def test_reconciling_what_is_as_wanted_writes_nothing() -> None:
    metadata = {"name": "r", "labels": {"a": "b"}, "annotations": {AUTO: "true"}}
    role = {"kind": "ClusterRole", "metadata": metadata, "rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}]}
    wider = {**role, "rules": [{"verbs": ["*"], "nonResourceURLs": ["*"]}]}
    assert reconciled_role(role, role) is None
    assert reconciled_role(wider, role) is None
    assert reconciled_binding({"metadata": metadata}, {"metadata": metadata, "subjects": []}) is None


def test_labels_that_users_changed_are_theirs() -> None:
    found = {"metadata": {"name": "r", "labels": {"a": "mine"}}}
    wanted = {"metadata": {"name": "r", "labels": {"a": "ours", "b": "ours"}}}
    merged = reconciled_role(found, wanted)
    assert merged is not None and merged["metadata"]["labels"] == {"a": "mine", "b": "ours"}


def test_a_suggested_schema_that_somebody_changed_without_a_word_is_marked_as_theirs() -> None:
    found = {"kind": "FlowSchema", "metadata": {"name": "x", "generation": 2}, "spec": {"matchingPrecedence": 5}}
    new = reconciled_flow_control(found, {"spec": {"matchingPrecedence": 6}})
    assert new is not None and new["spec"] == {"matchingPrecedence": 5}
    assert new["metadata"]["annotations"] == {"apf.kubernetes.io/autoupdate-spec": "false"}
