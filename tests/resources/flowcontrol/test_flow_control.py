"""Flow schemas and priority levels: what fits together, and what no one may change."""

from __future__ import annotations

from typing import Any

import pytest

SCHEMAS = "flowcontrol.apiserver.k8s.io/v1:flowschemas"
LEVELS = "flowcontrol.apiserver.k8s.io/v1:prioritylevelconfigurations"


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
    made = cluster.made(SCHEMAS, {"kind": "FlowSchema", "spec": {"priorityLevelConfiguration": {"name": "x"}}})
    made["status"] = {"conditions": [{"type": "A"}, {"type": "A"}]}
    answer = cluster.call("PUT", f"{SCHEMAS}/{cluster.name}/status", made)
    assert answer.problems == ['status.conditions[1].type: Duplicate value: "A"']
