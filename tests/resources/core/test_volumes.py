"""Volumes and claims: protected while in use, settled once made; a bound claim may grow."""

from __future__ import annotations

from typing import Any

import pytest

VOLUMES, CLAIMS = "v1:persistentvolumes", "v1:persistentvolumeclaims"
NFS = {"server": "s", "path": "/p"}


def volume(**spec: Any) -> dict[str, Any]:
    given = {"capacity": {"storage": "1Gi"}, "accessModes": ["ReadWriteOnce"], "nfs": NFS, **spec}
    return {"kind": "PersistentVolume", "spec": {key: value for key, value in given.items() if value is not None}}


def claim(**spec: Any) -> dict[str, Any]:
    given = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}, **spec}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "c"}, "spec": given}


def test_volumes_and_claims_are_protected_from_the_start(cluster: Any, api: Any) -> None:
    made = cluster.made(VOLUMES, volume())
    assert made["metadata"]["finalizers"] == ["kubernetes.io/pv-protection"]
    assert (made["spec"]["persistentVolumeReclaimPolicy"], made["spec"]["volumeMode"]) == ("Retain", "Filesystem")
    assert made["status"]["phase"] == "Pending" and made["status"]["lastPhaseTransitionTime"]
    assert api.made(CLAIMS, claim())["metadata"]["finalizers"] == ["kubernetes.io/pvc-protection"]


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"nfs": None}, ["spec: Required value: must specify a volume type"]),
        ({"hostPath": {"path": "/a"}}, ["spec.nfs: Forbidden: may not specify more than 1 volume type"]),
        (
            {"capacity": {"storage": "1Gi", "cpu": "1"}},
            ['spec.capacity: Unsupported value: {"cpu":"1","storage":"1Gi"}: supported values: "storage"'],
        ),
        (
            {"capacity": {}},
            ["spec.capacity: Required value", 'spec.capacity: Unsupported value: {}: supported values: "storage"'],
        ),
        (
            {"capacity": None},
            ["spec.capacity: Required value", 'spec.capacity: Unsupported value: null: supported values: "storage"'],
        ),
        (
            {"nfs": None, "local": {"path": "/a"}},
            ["spec.nodeAffinity: Required value: Local volume requires node affinity"],
        ),
        (
            {"nfs": None, "csi": {"driver": "Bad!", "volumeHandle": "h", "nodePublishSecretRef": {"name": "s"}}},
            [
                'spec.csi.driver: Invalid value: "Bad!": a lowercase RFC 1123 subdomain must consist of lower case '
                "alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. "
                "'example.com', regex used for validation is "
                "'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')",
                "spec.csi.nodePublishSecretRef.namespace: Required value",
            ],
        ),
        (
            {"nfs": None, "hostPath": {"path": "/"}, "persistentVolumeReclaimPolicy": "Recycle"},
            ["spec.persistentVolumeReclaimPolicy: Forbidden: may not be 'recycle' for a hostPath mount of '/'"],
        ),
        (
            {"volumeAttributesClassName": ""},
            [
                "spec.volumeAttributesClassName: Required value: an empty string is disallowed",
                "spec.csi: Required value: has to be specified when using volumeAttributesClassName",
            ],
        ),
    ],
)
def test_a_volume_has_one_good_source(cluster: Any, spec: Any, wrong: list[str]) -> None:
    assert cluster.problems(VOLUMES, volume(**spec)) == wrong


def test_where_a_volume_is_does_not_change(cluster: Any) -> None:
    made = cluster.made(VOLUMES, volume())
    answer = cluster.put(VOLUMES, {**made, "spec": {**made["spec"], "nfs": {**NFS, "server": "other"}}})
    [problem] = answer.problems
    assert problem.startswith(
        "spec.persistentvolumesource: Forbidden: spec.persistentvolumesource is immutable after creation\n@@ "
    )
    assert '-  "Server": "s"' in problem and '+  "Server": "other"' in problem


def test_of_the_nodes_that_reach_a_volume_only_old_labels_change_to_new_ones(cluster: Any) -> None:
    def reached(key: str) -> dict[str, Any]:
        wanted = {"matchExpressions": [{"key": key, "operator": "In", "values": ["linux"]}]}
        return {"required": {"nodeSelectorTerms": [wanted]}}

    made = cluster.made(VOLUMES, volume(nodeAffinity=reached("beta.kubernetes.io/os")))
    moved = cluster.put(VOLUMES, {**made, "spec": {**made["spec"], "nodeAffinity": reached("kubernetes.io/os")}})
    assert moved.status == 200
    back = cluster.put(VOLUMES, {**moved.body, "spec": made["spec"]})
    [problem] = back.problems
    assert problem.startswith("nodeAffinity: Invalid value: ")
    assert problem.endswith(": field is immutable, except for updating from beta label to GA")


def test_a_change_of_phase_is_timed_unless_told(cluster: Any) -> None:
    made = cluster.made(VOLUMES, volume())
    path = f"{VOLUMES}/{cluster.name}/status"
    old = "2020-01-01T00:00:00Z"
    told = cluster.call("PUT", path, {**made, "status": {"phase": "Bound", "lastPhaseTransitionTime": old}}).body
    assert told["status"]["lastPhaseTransitionTime"] == old
    kept = cluster.call("PUT", path, {**told, "status": {"phase": "Bound"}}).body
    assert kept["status"]["lastPhaseTransitionTime"] == old
    changed = cluster.call("PUT", path, {**kept, "status": {**kept["status"], "phase": "Released"}}).body
    assert changed["status"]["lastPhaseTransitionTime"] != old


def test_a_claim_asks_for_a_size_and_a_way_to_mount(api: Any) -> None:
    assert api.create(CLAIMS, claim(accessModes=[], resources={})).problems == [
        "spec.accessModes: Required value: at least 1 access mode is required",
        "spec.resources[storage]: Required value",
    ]


def test_a_source_and_its_reference_say_the_same(api: Any) -> None:
    made = api.made(CLAIMS, claim(dataSource={"kind": "PersistentVolumeClaim", "name": "src"}))
    assert made["spec"]["dataSourceRef"] == {"apiGroup": None, "kind": "PersistentVolumeClaim", "name": "src"}
    odd = claim(dataSource={"apiGroup": "example.com", "kind": "Odd", "name": "x"})
    assert "dataSource" not in api.made(CLAIMS, {**odd, "metadata": {"name": "odd"}})["spec"]


def test_only_a_bound_claim_may_ask_for_more(api: Any) -> None:
    made = api.made(CLAIMS, claim(volumeName="pv"))
    larger = {**made["spec"], "resources": {"requests": {"storage": "2Gi"}}}
    [problem] = api.put(f"{CLAIMS}/c", {**made, "spec": larger}).problems
    assert problem.startswith("spec: Forbidden: spec is immutable after creation except resources.requests and ")


def test_a_claim_that_is_not_bound_may_be_given_its_volume_and_its_class_once(api: Any) -> None:
    made = api.made(CLAIMS, claim())
    bound = api.put(f"{CLAIMS}/c", {**made, "spec": {**made["spec"], "volumeName": "pv", "storageClassName": "fast"}})
    assert bound.status == 200
    again = api.put(f"{CLAIMS}/c", {**bound.body, "spec": {**bound.body["spec"], "volumeName": "other"}})
    assert again.status == 422
