"""Priority classes: values stay, and the system's are the system's."""

from __future__ import annotations

from typing import Any

CLASSES = "scheduling.k8s.io/v1:priorityclasses"


def test_users_do_not_outrank_the_system(cluster: Any) -> None:
    assert cluster.problems(CLASSES, {"kind": "PriorityClass", "value": 1_000_000_001}) == [
        "value: Forbidden: maximum allowed value of a user defined priority is 1000000000"
    ]
    body = {"kind": "PriorityClass", "metadata": {"name": "system-mine"}, "value": 1}
    [problem] = cluster.problems(CLASSES, body)
    assert problem.endswith("error: system-mine is not a known system priority class")


def test_the_value_of_a_class_stays(cluster: Any) -> None:
    made = cluster.made(CLASSES, {"kind": "PriorityClass", "value": 5})
    assert made["preemptionPolicy"] == "PreemptLowerPriority"
    assert cluster.put(CLASSES, {**made, "value": 6, "preemptionPolicy": "Never"}).problems == [
        "value: Forbidden: may not be changed in an update.",
        'preemptionPolicy: Invalid value: "Never": field is immutable',
    ]


def test_a_system_class_cannot_be_deleted(cluster: Any) -> None:
    answer = cluster.call("DELETE", f"{CLASSES}/system-node-critical")
    assert answer.status == 403
    assert answer.body["message"].endswith("this is a system priority class and cannot be deleted")
