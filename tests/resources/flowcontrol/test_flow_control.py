"""Flow schemas and priority levels: what fits together, and what no one may change."""

from __future__ import annotations

import json
from typing import Any

import pytest

SCHEMAS = "flowcontrol.apiserver.k8s.io/v1:flowschemas"
LEVELS = "flowcontrol.apiserver.k8s.io/v1:prioritylevelconfigurations"
MERGE = "application/merge-patch+json"


def level(**spec: Any) -> dict[str, Any]:
    return {"kind": "PriorityLevelConfiguration", "spec": spec}


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, ["spec.type: Required value"]),
        ({"type": "Limited"}, ["spec.limited: Required value"]),
        (
            {"type": "Exempt", "limited": {}},
            [
                "spec.type: Invalid value: \"Exempt\": must be 'Exempt' if and only if `name` is 'exempt'",
                "spec.limited: Forbidden",
                "spec.limited.limitResponse.type: Required value",
            ],
        ),
        (
            {"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": {"queues": 4}}}},
            ["spec.limited.limitResponse.queuing.handSize: Invalid value: 8: should not be greater than queues (4)"],
        ),
    ],
)
def test_a_priority_level_says_what_its_type_demands(cluster: Any, spec: Any, wrong: list[str]) -> None:
    assert cluster.problems(LEVELS, level(**spec)) == wrong


def test_a_limited_level_gets_shares_and_queues_by_default(cluster: Any) -> None:
    made = cluster.made(LEVELS, level(type="Limited", limited={"limitResponse": {"type": "Queue", "queuing": {}}}))
    limited = made["spec"]["limited"]
    assert (limited["nominalConcurrencyShares"], limited["lendablePercent"]) == (30, 0)
    assert limited["limitResponse"]["queuing"] == {"queues": 64, "handSize": 8, "queueLengthLimit": 50}
    assert made["metadata"]["generation"] == 1


def test_a_rule_has_subjects_and_something_to_match(cluster: Any) -> None:
    spec = {"priorityLevelConfiguration": {"name": "x"}, "matchingPrecedence": 1, "rules": [{}]}
    assert cluster.problems(SCHEMAS, {"kind": "FlowSchema", "spec": spec}) == [
        "spec.matchingPrecedence: Invalid value: 1: only the schema named 'exempt' may have matchingPrecedence 1",
        "spec.rules[0].subjects: Required value: subjects must contain at least one value",
        "spec.rules[0]: Required value: at least one of resourceRules and nonResourceRules has to be non-empty",
    ]


def test_mandatory_objects_keep_their_spec(cluster: Any) -> None:
    found = cluster.call("GET", f"{SCHEMAS}/catch-all").body
    found["spec"]["matchingPrecedence"] = 9999
    [problem] = cluster.put(SCHEMAS, found).problems
    assert problem.endswith("spec of 'catch-all' must equal the fixed value")


def test_two_conditions_of_one_type_are_refused(cluster: Any) -> None:
    cluster.made(SCHEMAS, schema("x"))
    twice = {"status": {"conditions": [{"type": "A"}, {"type": "A"}]}}
    answer = cluster.call("PATCH", f"{SCHEMAS}/{cluster.name}/status", twice, content_type=MERGE)
    assert answer.problems == ['status.conditions[1].type: Duplicate value: "A"']


def test_a_schema_says_whether_its_level_exists(cluster: Any) -> None:
    cluster.made(SCHEMAS, schema(cluster.name))
    assert dangling(cluster, "True")["reason"] == "NotFound"
    limited = {"limitResponse": {"type": "Reject"}}
    cluster.made(LEVELS, level(type="Limited", limited=limited))
    said = dangling(cluster, "False")
    exists = f'This FlowSchema references the PriorityLevelConfiguration object named "{cluster.name}" and it exists'
    assert (said["reason"], said["message"]) == ("Found", exists)
    cluster.call("DELETE", f"{LEVELS}/{cluster.name}")
    assert dangling(cluster, "True")["message"].endswith("but there is no such object")


def schema(level: str) -> dict[str, Any]:
    return {"kind": "FlowSchema", "spec": {"priorityLevelConfiguration": {"name": level}}}


def dangling(cluster: Any, status: str) -> Any:
    """The condition, once it has that status."""
    watch = f"/apis/flowcontrol.apiserver.k8s.io/v1/flowschemas?watch=1&fieldSelector=metadata.name%3D{cluster.name}"
    with cluster.client.send("GET", f"{watch}&timeoutSeconds=30") as events:
        for line in events:
            for condition in json.loads(line)["object"].get("status", {}).get("conditions", ()):
                if condition["status"] == status:
                    cluster.client.connection.close()  # the watch would go on
                    return condition
    raise AssertionError(f"not Dangling={status} within 30 s")
