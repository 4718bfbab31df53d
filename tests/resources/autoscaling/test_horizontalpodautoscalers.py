from __future__ import annotations

import json
from typing import Any

V1, V2 = "autoscaling/v1:horizontalpodautoscalers", "autoscaling/v2:horizontalpodautoscalers"
METRICS = "autoscaling.alpha.kubernetes.io/metrics"
BEHAVIOR = "autoscaling.alpha.kubernetes.io/behavior"
CONDITIONS = "autoscaling.alpha.kubernetes.io/conditions"


def scaler(**spec: Any) -> dict[str, Any]:
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "web"}
    return {"metadata": {"name": "web"}, "spec": {"scaleTargetRef": target, "maxReplicas": 5} | spec}


def resource(name: str, **target: Any) -> dict[str, Any]:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def test_there_is_a_most_and_it_is_not_below_the_least(api: Any) -> None:
    assert api.create(V2, scaler(maxReplicas=0, minReplicas=2)).problems == [
        "spec.maxReplicas: Invalid value: 0: must be greater than or equal to `minReplicas`",
        "spec.maxReplicas: Required value",
    ]
    assert api.create(V2, scaler(maxReplicas=-1, minReplicas=-2)).problems == [
        "spec.minReplicas: Invalid value: -2: must be greater than or equal to 0",
        "spec.maxReplicas: Invalid value: -1: must be greater than or equal to 1",
    ]


def test_only_metrics_from_outside_can_wake_what_has_no_pods(api: Any) -> None:
    assert api.create(V2, scaler(minReplicas=0)).problems == [
        "spec.metrics: Forbidden: must specify at least one Object or External metric "
        "to support scaling to zero replicas"
    ]


def test_the_target_names_its_group_but_for_the_one_kind_of_the_core_group(api: Any) -> None:
    reference = {"kind": "Deployment", "name": "web"}
    assert api.create(V2, scaler(scaleTargetRef=reference)).problems == [
        'spec.scaleTargetRef.apiVersion: Invalid value: "": apiVersion must specify API group'
    ]
    assert api.create(V2, scaler(scaleTargetRef={"kind": "ReplicationController", "name": "web"})).status == 201


def test_a_metric_has_the_source_of_its_type_and_a_positive_target(api: Any) -> None:
    two = resource("cpu", type="Utilization", averageUtilization=0) | {"external": {"metric": {"name": "x"}}}
    problems = api.create(V2, scaler(metrics=[two, resource("cpu", type="Odd", averageValue="-1")])).problems
    assert "spec.metrics[0].external: Forbidden: must populate the given metric source only" in problems
    at = "spec.metrics[1].resource.target"
    assert problems[-2:] == [
        f'{at}.type: Invalid value: "Odd": must be either Utilization, Value, or AverageValue',
        f'{at}.averageValue: Invalid value: "-1": must be positive',
    ]


def test_a_behavior_is_completed_and_checked(api: Any) -> None:
    rules = {"scaleDown": {"policies": [{"type": "Odd", "value": 0, "periodSeconds": 9999}], "selectPolicy": "Any"}}
    at = "spec.behavior.scaleDown"
    assert api.create(V2, scaler(behavior=rules)).problems == [
        f'{at}.selectPolicy: Unsupported value: "Any": supported values: "Disabled", "Max", "Min"',
        f'{at}.policies[0].type: Unsupported value: "Odd": supported values: "Percent", "Pods"',
        f"{at}.policies[0].value: Invalid value: 0: must be greater than zero",
        f"{at}.policies[0].periodSeconds: Invalid value: 9999: must be less than or equal to 1800",
    ]
    made = api.made(V2, scaler(behavior={"scaleUp": {"stabilizationWindowSeconds": 7}}))["spec"]["behavior"]
    assert made["scaleUp"]["stabilizationWindowSeconds"] == 7
    assert [p["type"] for p in made["scaleUp"]["policies"]] == ["Pods", "Percent"]
    assert made["scaleDown"] == {
        "selectPolicy": "Max",
        "policies": [{"type": "Percent", "value": 100, "periodSeconds": 15}],
    }


def test_without_metrics_the_cpu_decides(api: Any) -> None:
    made = api.made(V2, scaler())["spec"]
    assert (made["minReplicas"], made["metrics"]) == (1, [resource("cpu", type="Utilization", averageUtilization=80)])
    assert api.get(f"{V1}/web")["spec"]["targetCPUUtilizationPercentage"] == 80


def test_the_old_version_keeps_what_it_has_no_fields_for_in_annotations(api: Any) -> None:
    metrics = [
        resource("memory", type="AverageValue", averageValue="500Mi"),
        resource("cpu", type="Utilization", averageUtilization=60),
        {
            "type": "Object",
            "object": {
                "describedObject": {"kind": "Service", "name": "s"},
                "metric": {"name": "hits", "selector": {"matchLabels": {"a": "b"}}},
                "target": {"type": "Value", "value": "2k"},
            },
        },
        {"type": "Pods", "pods": {"metric": {"name": "p"}, "target": {"type": "AverageValue", "averageValue": "1"}}},
        {
            "type": "External",
            "external": {"metric": {"name": "q"}, "target": {"type": "AverageValue", "averageValue": "3"}},
        },
    ]
    made = api.made(V2, scaler(metrics=metrics, behavior={"scaleUp": {"tolerance": "100m"}}))
    old = api.get(f"{V1}/web")
    assert old["spec"]["targetCPUUtilizationPercentage"] == 60
    kept = json.loads(old["metadata"]["annotations"][METRICS])
    assert kept[0] == {"type": "Resource", "resource": {"name": "memory", "targetAverageValue": "500Mi"}}
    assert json.loads(old["metadata"]["annotations"][BEHAVIOR])["ScaleUp"]["Tolerance"] == "100m"
    assert api.put(f"{V1}/web", old).status == 200
    again = api.get(f"{V2}/web")
    assert "annotations" not in again["metadata"]
    assert again["spec"]["behavior"] == made["spec"]["behavior"]
    memory, cpu, *others = made["spec"]["metrics"]
    assert again["spec"]["metrics"] == [memory, *others, cpu]
    assert again["metadata"]["generation"] == 2


def test_annotations_that_make_no_sense_are_dropped(api: Any) -> None:
    wanted = scaler() | {"metadata": {"name": "web", "annotations": {METRICS: "[{", BEHAVIOR: "7", CONDITIONS: "[3]"}}}
    made = api.made(V1, wanted)
    assert "annotations" not in made["metadata"]
    assert made["spec"]["targetCPUUtilizationPercentage"] == 80


def test_conditions_survive_the_old_version(api: Any) -> None:
    api.made(V2, scaler())
    condition = {"type": "AbleToScale", "status": "True", "lastTransitionTime": "2024-05-01T10:00:00Z", "reason": "x"}
    api.patch(f"{V2}/web/status", {"status": {"conditions": [condition], "currentReplicas": 2}})
    old = api.get(f"{V1}/web")
    assert json.loads(old["metadata"]["annotations"][CONDITIONS]) == [condition]
    old["status"]["desiredReplicas"] = 4
    assert api.put(f"{V1}/web/status", old).status == 200
    status = api.get(f"{V2}/web")["status"]
    assert (status["conditions"], status["currentReplicas"], status["desiredReplicas"]) == ([condition], 2, 4)


def test_the_columns_show_what_is_and_what_is_wanted(api: Any) -> None:
    metrics = [
        resource("memory", type="AverageValue", averageValue="500Mi"),
        resource("cpu", type="Utilization", averageUtilization=60),
        resource("ephemeral-storage", type="AverageValue", averageValue="1Gi"),
    ]
    api.made(V2, scaler(metrics=metrics, minReplicas=2))
    current = [{"type": "Resource", "resource": {"name": "memory", "current": {"averageValue": "200Mi"}}}]
    api.patch(f"{V2}/web/status", {"status": {"currentMetrics": current, "currentReplicas": 3, "desiredReplicas": 3}})
    for version in (V1, V2):
        cells = api.cells(f"{version}/web")
        assert cells["Targets"] == "memory: 200Mi/500Mi, cpu: <unknown>/60% + 1 more..."
        assert (cells["Reference"], cells["MinPods"], cells["MaxPods"], cells["Replicas"]) == (
            "Deployment/web",
            "2",
            5,
            3,
        )


def test_no_policies_are_completed_and_an_empty_list_of_them_is_refused(api: Any) -> None:
    assert api.create(V2, scaler(behavior={"scaleDown": {"policies": []}})).problems == [
        "spec.behavior.scaleDown.policies: Required value: must specify at least one Policy"
    ]
    made = api.made(V2, scaler(behavior={"scaleDown": {}}))
    assert made["spec"]["behavior"]["scaleDown"]["policies"] == [{"type": "Percent", "value": 100, "periodSeconds": 15}]


def test_annotations_that_stand_for_fields_are_nothing_to_the_version_that_has_the_fields(api: Any) -> None:
    annotated = scaler() | {"metadata": {"name": "web", "annotations": {METRICS: "[]", "mine": "kept"}}}
    made = api.made(V2, annotated)["metadata"]
    assert made["annotations"] == {"mine": "kept"}
    assert METRICS not in json.dumps(made["managedFields"])


def test_a_behavior_of_the_old_version_is_completed_as_it_is_stored(api: Any) -> None:
    rules = {"scaleUp": {"policies": [{"type": "Pods", "value": 1, "periodSeconds": 10}]}}
    made = api.made(V1, scaler() | {"metadata": {"name": "web", "annotations": {BEHAVIOR: json.dumps(rules)}}})
    assert json.loads(made["metadata"]["annotations"][BEHAVIOR])["ScaleUp"]["SelectPolicy"] == "Max"
    assert api.get(f"{V2}/web")["spec"]["behavior"]["scaleDown"]["selectPolicy"] == "Max"


def apply(api: Any, path: str, manager: str, **spec: Any) -> Any:
    """Apply through one of the versions, by force."""
    config = scaler(**spec) | {"apiVersion": path.partition(":")[0], "kind": "HorizontalPodAutoscaler"}
    url = f"{path}/web?fieldManager={manager}&force=true"
    answer = api.call("PATCH", url, config, content_type="application/apply-patch+yaml")
    assert answer.status in (200, 201), answer.body
    return answer.body


def test_what_is_owned_in_one_version_is_compared_in_that_version(api: Any) -> None:
    apply(api, V1, "one", targetCPUUtilizationPercentage=50)
    apply(api, V2, "two", maxReplicas=9)
    made = apply(api, V1, "one")
    one, two = (entry["fieldsV1"]["f:spec"] for entry in made["metadata"]["managedFields"])
    assert one == {"f:maxReplicas": {}, "f:scaleTargetRef": {}}, "the reference is one value to this version"
    assert two == {"f:scaleTargetRef": {"f:apiVersion": {}, "f:kind": {}, "f:name": {}}}
    assert made["spec"]["targetCPUUtilizationPercentage"] == 50, "to v2 its metrics are there, with or without it"
