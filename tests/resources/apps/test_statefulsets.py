from __future__ import annotations

from typing import Any

PATH = "apps/v1:statefulsets"


def claim(name: str = "data", **spec: Any) -> dict[str, Any]:
    wanted = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}} | spec
    return {"metadata": {"name": name}, "spec": wanted}


def test_a_name_must_be_a_label(api: Any, workload: Any) -> None:
    assert api.create(PATH, workload("a.b")).problems == ['metadata.name: Invalid value: "a.b": must not contain dots']


def test_policies_are_known_ones(api: Any, workload: Any) -> None:
    retention = {"whenDeleted": "Keep"}
    wanted = workload(podManagementPolicy="Random", persistentVolumeClaimRetentionPolicy=retention)
    assert api.create(PATH, wanted).problems == [
        "spec.podManagementPolicy: Invalid value: \"Random\": must be 'OrderedReady' or 'Parallel'",
        'spec.persistentVolumeClaimRetentionPolicy.whenDeleted: Unsupported value: "Keep": '
        'supported values: "Retain", "Delete"',
    ]


def test_a_rolling_update_moves_at_least_one_pod(api: Any, workload: Any) -> None:
    strategy = {"rollingUpdate": {"maxUnavailable": 0, "partition": -1}}
    assert api.create(PATH, workload(updateStrategy=strategy)).problems == [
        "spec.updateStrategy.rollingUpdate.partition: Invalid value: -1: must be greater than or equal to 0",
        "spec.updateStrategy.rollingUpdate.maxUnavailable: Invalid value: 0: cannot be 0",
    ]


def test_claims_are_checked_when_they_are_made(api: Any, workload: Any) -> None:
    bad = claim(accessModes=[], resources={})
    assert api.create(PATH, workload(volumeClaimTemplates=[bad])).problems == [
        "spec.volumeClaimTemplates[0].spec.accessModes: Required value: at least 1 access mode is required",
        "spec.volumeClaimTemplates[0].spec.resources[storage]: Required value",
    ]


def test_a_mount_may_name_a_claim(api: Any, workload: Any) -> None:
    wanted = workload(volumeClaimTemplates=[claim()])
    container = wanted["spec"]["template"]["spec"]["containers"][0]
    container["volumeMounts"] = [{"name": "data", "mountPath": "/data"}]
    made = api.made(PATH, wanted)["spec"]["volumeClaimTemplates"][0]
    assert (made["kind"], made["spec"]["volumeMode"], made["status"]) == (
        "PersistentVolumeClaim",
        "Filesystem",
        {"phase": "Pending"},
    )
    container["volumeMounts"][0]["name"] = "other"
    assert api.create(PATH, wanted | {"metadata": {"name": "other"}}).problems == [
        'spec.template.spec.containers[0].volumeMounts[0].name: Not found: "other"'
    ]


def test_what_identifies_its_pods_is_immutable(api: Any, workload: Any) -> None:
    api.made(PATH, workload(serviceName="web", volumeClaimTemplates=[claim()]))
    changed = workload(serviceName="other", podManagementPolicy="Parallel", volumeClaimTemplates=[claim("more")])
    problems = api.put(f"{PATH}/web", changed).problems
    assert [p.partition(":")[0] for p in problems] == [
        "spec.volumeClaimTemplates",
        "spec.serviceName",
        "spec.podManagementPolicy",
    ]
    assert all(p.endswith("field is immutable") for p in problems)


def test_a_negative_history_limit_is_only_warned_about(api: Any, workload: Any) -> None:
    assert api.create(PATH, workload(revisionHistoryLimit=-1)).warnings == [
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
    ]
