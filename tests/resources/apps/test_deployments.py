from __future__ import annotations

from typing import Any

PATH = "apps/v1:deployments"


def test_a_deployment_needs_a_selector_that_selects_its_pods(api: Any, workload: Any) -> None:
    missing = api.create(PATH, workload(selector=None))
    assert missing.problems == [
        "spec.selector: Required value",
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`',
    ]
    empty = api.create(PATH, workload(selector={}))
    assert empty.problems == ["spec.selector: Invalid value: {}: empty selector is invalid for deployment"]
    other = {"matchExpressions": [{"key": "app", "operator": "Like", "values": ["web"]}]}
    assert [p.partition(":")[0] for p in api.create(PATH, workload(selector=other)).problems] == [
        "spec.selector.matchExpressions[0].operator",
        "spec.selector",
    ]


def test_a_strategy_is_known_and_lets_something_move(api: Any, workload: Any) -> None:
    unknown = api.create(PATH, workload(strategy={"type": "Slowly"}))
    assert unknown.problems == [
        'spec.strategy: Unsupported value: {"Type":"Slowly","RollingUpdate":null}: '
        'supported values: "Recreate", "RollingUpdate"'
    ]
    ordered = api.create(PATH, workload(strategy={"type": "Slowly", "rollingUpdate": {"maxSurge": "1%"}}))
    assert '{"Type":"Slowly","RollingUpdate":{"MaxUnavailable":0,"MaxSurge":"1%"}}' in ordered.problems[0]
    stuck = api.create(PATH, workload(strategy={"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "0%"}}))
    assert stuck.problems == [
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "0%": may not be 0 when `maxSurge` is 0'
    ]
    much = api.create(PATH, workload(strategy={"rollingUpdate": {"maxUnavailable": "101%"}}))
    assert much.problems == [
        'spec.strategy.rollingUpdate.maxUnavailable: Invalid value: "101%": must not be greater than 100%'
    ]
    both = api.create(PATH, workload(strategy={"type": "Recreate", "rollingUpdate": {"maxSurge": 1}}))
    assert both.problems == [
        "spec.strategy.rollingUpdate: Forbidden: may not be specified when strategy `type` is 'Recreate'"
    ]


def test_pods_of_a_deployment_restart_and_have_no_deadline(api: Any, workload: Any) -> None:
    wanted = workload()
    wanted["spec"]["template"]["spec"] |= {"restartPolicy": "Never", "activeDeadlineSeconds": 5}
    assert api.create(PATH, wanted).problems == [
        'spec.template.spec.restartPolicy: Unsupported value: "Never": supported values: "Always"',
        "spec.template.spec.activeDeadlineSeconds: Forbidden: activeDeadlineSeconds in ReplicaSet is not Supported",
    ]


def test_the_deadline_is_longer_than_pods_take_to_be_ready(api: Any, workload: Any) -> None:
    late = api.create(PATH, workload(minReadySeconds=10, progressDeadlineSeconds=10))
    assert late.problems == ["spec.progressDeadlineSeconds: Invalid value: 10: must be greater than minReadySeconds"]


def test_the_selector_is_immutable(api: Any, workload: Any) -> None:
    api.made(PATH, workload())
    labels = {"app": "web", "a": "b"}
    changed = workload(selector={"matchLabels": labels})
    changed["spec"]["template"]["metadata"]["labels"] = labels
    assert api.put(f"{PATH}/web", changed).problems == [
        'spec.selector: Invalid value: {"matchLabels":{"a":"b","app":"web"}}: field is immutable'
    ]


def test_a_selector_is_shown_as_its_type_orders_it(api: Any, workload: Any) -> None:
    odd = {"matchExpressions": [{"values": ["x"], "key": "a"}], "matchLabels": {"app": "web"}}
    assert api.create(PATH, workload(selector=odd)).problems[-1] == (
        'spec.selector: Invalid value: {"matchLabels":{"app":"web"},'
        '"matchExpressions":[{"key":"a","operator":"","values":["x"]}]}: invalid label selector'
    )


def test_the_generation_rises_with_the_spec_and_with_annotations_only(api: Any, workload: Any) -> None:
    assert api.made(PATH, workload())["metadata"]["generation"] == 1
    at = f"{PATH}/web"
    assert api.patch(at, {"metadata": {"labels": {"a": "b"}}}).body["metadata"]["generation"] == 1
    assert api.patch(at, {"metadata": {"annotations": {"a": "b"}}}).body["metadata"]["generation"] == 2
    assert api.patch(at, {"spec": {"replicas": 3}}).body["metadata"]["generation"] == 3
    assert api.patch(f"{at}/status", {"status": {"replicas": 3}}).body["metadata"]["generation"] == 3


def test_a_status_is_written_through_its_subresource_only(api: Any, workload: Any) -> None:
    api.made(PATH, workload() | {"status": {"replicas": 9}})
    at = f"{PATH}/web"
    assert api.get(at)["status"] == {}
    written = api.patch(f"{at}/status", {"spec": {"replicas": 5}, "status": {"replicas": 2, "readyReplicas": 1}}).body
    assert (written["spec"]["replicas"], written["status"]) == (1, {"replicas": 2, "readyReplicas": 1})
    assert api.put(at, workload()).body["status"] == {"replicas": 2, "readyReplicas": 1}


def test_the_counts_of_a_status_add_up(api: Any, workload: Any) -> None:
    api.made(PATH, workload())
    at = f"{PATH}/web/status"
    assert api.patch(at, {"status": {"replicas": 1, "availableReplicas": 2, "collisionCount": 3}}).problems == [
        "status.availableReplicas: Invalid value: 2: cannot be greater than status.replicas",
        "status.availableReplicas: Invalid value: 2: cannot be greater than readyReplicas",
    ]
    assert api.patch(at, {"status": {"collisionCount": 3}}).status == 200
    assert api.patch(at, {"status": {"collisionCount": None}}).problems == [
        "status.collisionCount: Invalid value: 0: cannot be decremented"
    ]


def test_scaling_changes_the_deployment_and_who_owns_its_replicas(api: Any, workload: Any) -> None:
    api.made(PATH, workload())
    at = f"{PATH}/web/scale"
    assert api.put(at, {"metadata": {"name": "web"}, "spec": {"replicas": -1}}).problems == [
        "spec.replicas: Invalid value: -1: must be greater than or equal to 0"
    ]
    scaled = api.patch(f"{at}?fieldManager=me", {"spec": {"replicas": 4}})
    assert (scaled.body["kind"], scaled.body["spec"]) == ("Scale", {"replicas": 4})
    assert scaled.body["status"] == {"replicas": 0, "selector": "app=web"}
    assert "managedFields" not in scaled.body["metadata"]
    deployment = api.get(f"{PATH}/web")
    assert (deployment["spec"]["replicas"], deployment["metadata"]["generation"]) == (4, 2)
    owners = {m["manager"]: m["fieldsV1"] for m in deployment["metadata"]["managedFields"]}
    assert owners.pop("me") == {"f:spec": {"f:replicas": {}}}
    assert all("f:replicas" not in fields["f:spec"] for fields in owners.values())
    cells = api.cells(at)
    assert (cells["Name"], cells["Desired"], cells["Available"]) == ("web", 4, 0)


def test_a_scale_is_of_the_object_that_the_path_names(api: Any, workload: Any) -> None:
    api.made(PATH, workload())
    at = f"{PATH}/web/scale"

    def scale(**metadata: str) -> dict[str, Any]:
        return {"metadata": {"name": "web", **metadata}, "spec": {"replicas": 2}}

    elsewhere = api.put(at, scale(namespace="elsewhere"))
    assert (elsewhere.status, elsewhere.body["message"]) == (
        400,
        "the namespace of the provided object does not match the namespace sent on the request",
    )
    another = api.put(f"{at}?dryRun=All", scale(uid="another"))
    assert another.status == 409
    assert f"Key: /deployments/{api.namespace}/web, ResourceVersion: 0" in another.body["message"]
    odd = api.put(f"{PATH}/missing/scale", scale())
    assert (odd.status, odd.body["reason"]) == (400, "BadRequest"), "the body is judged before the object is looked for"


def test_a_stale_scale_is_a_conflict(api: Any, workload: Any) -> None:
    stale = api.made(PATH, workload())["metadata"]["resourceVersion"]
    api.patch(f"{PATH}/web", {"metadata": {"labels": {"a": "b"}}})
    body = {"metadata": {"name": "web", "resourceVersion": stale}, "spec": {"replicas": 2}}
    assert api.put(f"{PATH}/web/scale", body).status == 409


def test_a_name_with_dots_is_warned_about(api: Any, workload: Any) -> None:
    assert api.create(PATH, workload("a.b")).warnings == [
        "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; "
        "a DNS label is recommended: [must not contain dots]"
    ]


def test_the_columns_show_replicas_and_what_runs_in_them(api: Any, workload: Any) -> None:
    selector = {
        "matchLabels": {"app": "web"},
        "matchExpressions": [{"key": "app", "operator": "In", "values": ["web"]}],
    }
    api.made(PATH, workload(replicas=3, selector=selector))
    api.patch(f"{PATH}/web/status", {"status": {"replicas": 3, "readyReplicas": 2, "updatedReplicas": 1}})
    cells = api.cells(f"{PATH}/web")
    assert (cells["Ready"], cells["Up-to-date"], cells["Available"]) == ("2/3", 1, 0)
    assert (cells["Containers"], cells["Images"]) == ("web", "nginx:1.27")
    assert cells["Selector"] == "app=web,app in (web)"


def test_an_update_is_warned_about_its_template_whatever_it_changes(api: Any, workload: Any) -> None:
    wanted = workload()
    wanted["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = -1
    api.made(PATH, wanted)
    (warning,) = api.patch(f"{PATH}/web", {"spec": {"minReadySeconds": 1}}).warnings
    assert warning.startswith("spec.template.spec.terminationGracePeriodSeconds: must be >= 0")
    assert api.patch(f"{PATH}/web", {"metadata": {"labels": {"a": "b"}}}).warnings == []
