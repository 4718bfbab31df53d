"""Runtime classes: a handler that stays, and rules for the pods that use it."""

from __future__ import annotations

from typing import Any

CLASSES = "node.k8s.io/v1:runtimeclasses"


def test_the_handler_is_named_and_stays(cluster: Any) -> None:
    assert cluster.problems(CLASSES, {"kind": "RuntimeClass"}) == ["handler: Required value"]
    (long,) = cluster.problems(CLASSES, {"kind": "RuntimeClass", "handler": "h" * 64})
    assert long.endswith("must be no more than 63 bytes"), "a declared rule counts bytes"
    made = cluster.made(CLASSES, {"kind": "RuntimeClass", "handler": "runc"})
    assert cluster.put(CLASSES, {**made, "handler": "kata"}).problems == [
        "handler: Invalid value: null: field is immutable"
    ]


def test_the_same_toleration_twice_is_refused(cluster: Any) -> None:
    toleration = {"key": "a", "operator": "Exists"}
    body = {"kind": "RuntimeClass", "handler": "runc", "scheduling": {"tolerations": [toleration, toleration]}}
    assert cluster.problems(CLASSES, body) == [
        'scheduling.tolerations[1]: Duplicate value: {"Key":"a","Operator":"Exists","Value":"","Effect":"",'
        '"TolerationSeconds":null}'
    ]


def test_labels_that_were_replaced_are_warned_of(cluster: Any) -> None:
    selector = {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}
    answer = cluster.call("POST", CLASSES, {"kind": "RuntimeClass", "handler": "runc", "scheduling": selector})
    assert answer.warnings == ['scheduling.nodeSelector: deprecated since v1.14; use \\"kubernetes.io/os\\" instead']


def test_an_update_is_judged_like_what_is_new(cluster: Any) -> None:
    made = cluster.made(CLASSES, {"kind": "RuntimeClass", "handler": "runc"})
    odd = {"tolerations": [{"key": "k", "operator": "Odd"}]}
    (problem,) = cluster.put(CLASSES, {**made, "scheduling": odd}).problems
    assert problem.startswith('scheduling.tolerations[0].operator: Unsupported value: "Odd"')
    immutable = "handler: Invalid value: null: field is immutable"
    assert cluster.put(CLASSES, {**made, "handler": ""}).problems == [immutable, "handler: Required value"]
    dots, last = cluster.put(CLASSES, {**made, "handler": "a.b"}).problems
    assert (dots, last) == ('handler: Invalid value: "a.b": must not contain dots', immutable)
