from __future__ import annotations

from typing import Any

PATH = "apps/v1:replicasets"


def test_a_replica_set_needs_a_template(api: Any, workload: Any) -> None:
    wanted = workload()
    del wanted["spec"]["template"]
    assert api.create(PATH, wanted).problems == [
        "spec.template.metadata.labels: Invalid value: null: `selector` does not match template `labels`",
        "spec.template.spec.containers: Required value",
    ]


def test_counts_are_not_negative(api: Any, workload: Any) -> None:
    assert api.create(PATH, workload(replicas=-1, minReadySeconds=-2)).problems == [
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
        "spec.minReadySeconds: Invalid value: -2: must be greater than or equal to 0",
    ]


def test_no_more_pods_are_ready_than_there_are(api: Any, workload: Any) -> None:
    api.made(PATH, workload())
    assert api.patch(f"{PATH}/web/status", {"status": {"replicas": 1, "fullyLabeledReplicas": 2}}).problems == [
        "status.fullyLabeledReplicas: Invalid value: 2: cannot be greater than status.replicas"
    ]


def test_its_status_cannot_be_selected_by(api: Any) -> None:
    answer = api.call("GET", f"{PATH}?fieldSelector=status.replicas=1")
    assert answer.status == 400
    assert answer.body["message"].startswith('"status.replicas" is not a known field selector')


def test_the_columns_show_the_counts(api: Any, workload: Any) -> None:
    api.made(PATH, workload(replicas=2))
    api.patch(f"{PATH}/web/status", {"status": {"replicas": 2, "readyReplicas": 1}})
    cells = api.cells(f"{PATH}/web")
    assert (cells["Desired"], cells["Current"], cells["Ready"], cells["Selector"]) == (2, 2, 1, "app=web")
