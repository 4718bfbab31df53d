from __future__ import annotations

from typing import Any

import pytest

STRATEGIC = {"content-type": "application/strategic-merge-patch+json"}
MERGE = {"content-type": "application/merge-patch+json"}
TABLE = {"accept": "application/json;as=Table;v=v1;g=meta.k8s.io"}


@pytest.fixture
def pods(namespace: Any) -> Any:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    namespace.client.create(namespace.path("serviceaccounts"), account)
    return namespace


def pod(name: str = "web", **spec: Any) -> dict[str, Any]:
    containers = [{"name": "web", "image": "nginx:1.27"}]
    given = {"automountServiceAccountToken": False, "containers": containers} | spec
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": given}


def problems(pods: Any, **spec: Any) -> list[str]:
    found: list[str] = pods.messages("POST", pods.path("pods"), pod(**spec))
    return found


def made(pods: Any, name: str = "web", **spec: Any) -> dict[str, Any]:
    answer: dict[str, Any] = pods.client.create(pods.path("pods"), pod(name, **spec))
    return answer


def test_a_pod_without_a_service_account_to_run_as_is_forbidden(namespace: Any) -> None:
    status, answer = namespace.client.call("POST", namespace.path("pods"), pod(serviceAccountName="nobody"))
    assert (status, answer["message"]) == (
        403,
        f'pods "web" is forbidden: error looking up service account {namespace.name}/nobody: '
        'serviceaccount "nobody" not found',
    )


def test_an_account_s_name_that_no_account_can_have_is_forbidden_too(pods: Any) -> None:
    status, answer = pods.client.call("POST", pods.path("pods"), pod(serviceAccountName="a/b"))
    assert (status, answer["message"]) == (
        403,
        f'pods "web" is forbidden: error looking up service account {pods.name}/a/b: '
        "invalid resource name \"a/b\": [may not contain '/']",
    )


def test_a_runtime_class_that_cannot_be_asked_for_is_upstream_s_own_failure(pods: Any) -> None:
    for name, why in (
        ("", "resource name may not be empty"),
        ("..", "invalid resource name \"..\": [may not be '..']"),
    ):
        status, answer = pods.client.call("POST", pods.path("pods"), pod(runtimeClassName=name))
        assert (status, answer["message"]) == (500, why)


def test_a_lifecycle_is_dropped_with_a_stop_signal_that_is_all_it_says(pods: Any) -> None:
    containers = [
        {"name": "a", "image": "i", "lifecycle": {"stopSignal": "SIGTERM"}},
        {"name": "b", "image": "i", "lifecycle": {}},
    ]
    a, b = made(pods, containers=containers)["spec"]["containers"]
    assert ("lifecycle" in a, b["lifecycle"]) == (False, {})


def test_a_pod_gets_the_token_of_its_account_unless_it_declines(pods: Any) -> None:
    spec = made(pods, automountServiceAccountToken=None)["spec"]
    (volume,) = spec["volumes"]
    assert [list(source) for source in volume["projected"]["sources"]] == [
        ["serviceAccountToken"],
        ["configMap"],
        ["downwardAPI"],
    ]
    (mount,) = spec["containers"][0]["volumeMounts"]
    assert (mount["name"], mount["readOnly"]) == (volume["name"], True)
    assert "volumes" not in made(pods, "other")["spec"]


def test_a_new_pod_is_pending_whatever_status_it_came_with(pods: Any) -> None:
    sent = pod() | {"status": {"phase": "Running", "podIP": "10.0.0.1"}}
    created = pods.client.create(pods.path("pods"), sent)
    assert created["status"] == {"phase": "Pending", "qosClass": "BestEffort"}
    assert created["metadata"]["generation"] == 1
    assert [t["tolerationSeconds"] for t in created["spec"]["tolerations"]] == [300, 300]


def test_a_priority_comes_from_a_class_and_not_from_the_client(pods: Any) -> None:
    status, answer = pods.client.call("POST", pods.path("pods"), pod(priority=5))
    assert (status, answer["message"]) == (
        403,
        'pods "web" is forbidden: the integer value of priority (5) must not be provided in pod spec; priority '
        "admission controller computed 0 from the given PriorityClass name",
    )
    status, answer = pods.client.call("POST", pods.path("pods"), pod(priorityClassName="none"))
    assert (status, answer["message"]) == (403, 'pods "web" is forbidden: no PriorityClass with name none was found')


@pytest.mark.parametrize(
    ("resources", "quality"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "500m"}}, "Burstable"),
    ],
)
def test_the_quality_of_service_follows_from_requests_and_limits(
    pods: Any, resources: dict[str, Any], quality: str
) -> None:
    created = made(pods, containers=[{"name": "c", "image": "a", "resources": resources}])
    assert created["status"]["qosClass"] == quality


def test_a_gated_pod_says_so_and_may_only_lose_gates(pods: Any) -> None:
    created = made(pods, schedulingGates=[{"name": "example.com/wait"}], nodeSelector={"a": "b"})
    assert created["status"]["conditions"][0]["reason"] == "SchedulingGated"
    path = pods.path("pods", "web")
    grown = {"spec": {"schedulingGates": [{"name": "example.com/wait"}, {"name": "example.com/more"}]}}
    assert pods.messages("PATCH", path, grown, **MERGE) == [
        "spec.schedulingGates[1].name: Forbidden: only deletion is allowed, but found new scheduling gate "
        "'example.com/more'"
    ]
    changed = {"spec": {"nodeSelector": {"a": "c"}}}
    (problem,) = pods.messages("PATCH", path, changed, **MERGE)
    assert problem.endswith("only additions to spec.nodeSelector are allowed (no mutations or deletions)")
    narrowed = {"spec": {"schedulingGates": None, "nodeSelector": {"zone": "x"}}}
    status, answer = pods.client.call("PATCH", path, narrowed, **MERGE)
    assert (status, answer["spec"]["nodeSelector"]) == (200, {"a": "b", "zone": "x"})
    assert answer["metadata"]["generation"] == 2


def test_an_update_may_change_images_and_little_else(pods: Any) -> None:
    made(pods)
    path = pods.path("pods", "web")
    image = {"spec": {"containers": [{"name": "web", "image": "nginx:1.28"}]}}
    status, answer = pods.client.call("PATCH", path, image, **STRATEGIC)
    assert (status, answer["metadata"]["generation"]) == (200, 2)
    (problem,) = pods.messages("PATCH", path, {"spec": {"nodeName": "n1"}}, **MERGE)
    assert problem.startswith(
        "spec: Forbidden: pod updates may not change fields other than `spec.containers[*].image`"
    )
    assert "\n@@ " in problem and '+ "nodeName": "n1"' in problem
    added = {"spec": {"containers": [{"name": "more", "image": "a"}]}}
    assert pods.messages("PATCH", path, added, **STRATEGIC) == [
        "spec.containers: Forbidden: pod updates may not add or remove containers"
    ]


def test_a_deadline_only_comes_nearer(pods: Any) -> None:
    made(pods, activeDeadlineSeconds=100)
    path = pods.path("pods", "web")
    assert pods.messages("PATCH", path, {"spec": {"activeDeadlineSeconds": 200}}, **MERGE) == [
        "spec.activeDeadlineSeconds: Invalid value: 200: must be less than or equal to previous value"
    ]
    assert pods.client.call("PATCH", path, {"spec": {"activeDeadlineSeconds": 50}}, **MERGE)[0] == 200


def test_tolerations_are_only_added(pods: Any) -> None:
    made(pods, tolerations=[{"key": "old", "operator": "Exists"}])
    only = {"spec": {"tolerations": [{"key": "new", "operator": "Exists"}]}}
    assert pods.messages("PATCH", pods.path("pods", "web"), only, **MERGE) == [
        "spec.tolerations: Forbidden: existing toleration can not be modified except its tolerationSeconds"
    ]


def test_the_status_changes_through_its_own_path_only(pods: Any) -> None:
    made(pods)
    path = pods.path("pods", "web")
    status = {"status": {"phase": "Running"}, "spec": {"nodeName": "n1"}}
    _, answer = pods.client.call("PATCH", f"{path}/status", status, **MERGE)
    assert (answer["status"]["phase"], "nodeName" in answer["spec"]) == ("Running", False)
    _, answer = pods.client.call("PATCH", path, {"status": {"phase": "Failed"}}, **MERGE)
    assert answer["status"]["phase"] == "Running"


def test_a_finished_container_does_not_run_again_unless_its_policy_says_so(pods: Any) -> None:
    made(pods, restartPolicy="Never")
    path = f"{pods.path('pods', 'web')}/status"

    def state(**state: Any) -> dict[str, Any]:
        container = {"name": "web", "image": "a", "imageID": "", "ready": False, "restartCount": 0, "state": state}
        return {"status": {"containerStatuses": [container]}}

    assert pods.client.call("PATCH", path, state(terminated={"exitCode": 1}), **MERGE)[0] == 200
    assert pods.messages("PATCH", path, state(running={}), **MERGE) == [
        "status.containerStatuses[0].state: Forbidden: may not be transitioned to non-terminated state"
    ]


def test_addresses_in_the_status_agree(pods: Any) -> None:
    made(pods)
    path = f"{pods.path('pods', 'web')}/status"
    _, answer = pods.client.call("PATCH", path, {"status": {"podIP": "10.0.0.1"}}, **MERGE)
    assert answer["status"]["podIPs"] == [{"ip": "10.0.0.1"}]
    two = {"status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "10.0.0.2"}]}}
    (problem,) = pods.messages("PATCH", path, two, **MERGE)
    assert problem.endswith("may specify no more than one IP for each IP family")
    broken = {"status": {"podIPs": [{"ip": "10.0.0.1"}, {"ip": "a:b"}]}}
    assert [text.partition(": ")[2] for text in pods.messages("PATCH", path, broken, **MERGE)][1:] == [
        "Internal error: failed to check for dual stack with error:invalid IP[1]: a:b",
        'Invalid value: [{"IP":"10.0.0.1"},{"IP":"a:b"}]: may specify no more than one IP for each IP family',
    ]


def test_ephemeral_containers_are_added_for_good(pods: Any) -> None:
    made(pods)
    path = f"{pods.path('pods', 'web')}/ephemeralcontainers"
    debug = {"spec": {"ephemeralContainers": [{"name": "debug", "image": "busybox"}]}}
    status, answer = pods.client.call("PATCH", path, debug, **STRATEGIC)
    assert (status, answer["spec"]["ephemeralContainers"][0]["name"]) == (200, "debug")
    (problem,) = pods.messages("PATCH", path, {"spec": {"ephemeralContainers": None}}, **MERGE)
    assert problem.startswith('spec.ephemeralContainers: Forbidden: existing ephemeral containers "debug" may not be')
    taken = {"spec": {"ephemeralContainers": [{"name": "web", "image": "a", "ports": [{"containerPort": 1}]}]}}
    assert pods.messages("PATCH", path, taken, **STRATEGIC)[:2] == [
        'spec.ephemeralContainers[0].name: Duplicate value: "web"',
        "spec.ephemeralContainers[0].ports: Forbidden: cannot be set for an Ephemeral Container",
    ]
    empty = {"spec": {"ephemeralContainers": [{"name": "e", "image": "a", "resources": {}, "lifecycle": {}}]}}
    assert pods.messages("PATCH", path, empty, **STRATEGIC) == [
        "spec.ephemeralContainers[0].lifecycle: Forbidden: cannot be set for an Ephemeral Container"
    ]


def test_a_resize_changes_cpu_and_memory_within_the_quality_of_service(pods: Any) -> None:
    resources = {"requests": {"cpu": "100m"}, "limits": {"cpu": "200m"}}
    made(pods, containers=[{"name": "web", "image": "a", "resources": resources}])
    path = f"{pods.path('pods', 'web')}/resize"

    def patch(**resources: Any) -> dict[str, Any]:
        return {"spec": {"containers": [{"name": "web", "resources": resources}]}}

    status, answer = pods.client.call("PATCH", path, patch(limits={"cpu": "300m"}), **STRATEGIC)
    assert (status, answer["spec"]["containers"][0]["resources"]["limits"]) == (200, {"cpu": "300m"})
    assert pods.messages("PATCH", path, patch(limits={"cpu": None}), **STRATEGIC) == [
        "spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed"
    ]
    assert pods.messages("PATCH", path, {"spec": {"resources": {"limits": {}}}}, **MERGE) == [
        "spec: Forbidden: only cpu and memory resources are mutable"
    ]


def test_a_pod_that_does_not_run_is_deleted_at_once_and_one_that_does_is_given_time(pods: Any) -> None:
    made(pods, "idle")
    path = pods.path("pods", "idle")
    assert pods.client.call("DELETE", path)[0] == 200
    assert pods.client.call("GET", path)[0] == 404
    made(pods, "placed", nodeName="n1")
    path = pods.path("pods", "placed")
    _, answer = pods.client.call("DELETE", path)
    assert answer["metadata"]["deletionGracePeriodSeconds"] == 30
    assert pods.client.get(path)["metadata"]["deletionTimestamp"] == answer["metadata"]["deletionTimestamp"]
    assert pods.client.call("DELETE", path, {"gracePeriodSeconds": 0})[0] == 200
    assert pods.client.call("GET", path)[0] == 404


def test_a_binding_gives_an_unassigned_pod_its_node(pods: Any) -> None:
    made(pods)
    path = f"{pods.path('pods', 'web')}/binding"

    def binding(node: str, name: str = "web") -> dict[str, Any]:
        target = {"kind": "Node", "name": node}
        return {"apiVersion": "v1", "kind": "Binding", "metadata": {"name": name}, "target": target}

    status, answer = pods.client.call("POST", path, binding("n1", "other"))
    assert (status, answer["message"]) == (400, "name in URL does not match name in Binding object")
    foreign = binding("n1")
    foreign["metadata"]["uid"] = "another"
    for query, root in (("", "/registry"), ("?dryRun=All", "")):
        status, answer = pods.client.call("POST", f"{path}{query}", foreign)
        assert (status, f"Key: {root}/pods/{pods.name}/web, " in answer["message"]) == (409, True)
    assert pods.client.call("POST", pods.path("bindings?dryRun=All"), foreign)[0] == 201
    status, answer = pods.client.call("POST", pods.path("bindings"), binding("n1", ""))
    assert (status, answer["message"]) == (400, "Name parameter required.")
    status, answer = pods.client.call("POST", path, binding("n/1"))
    assert (status, answer["message"][:34]) == (500, 'target.name: Invalid value: "n/1":')
    assert pods.client.call("POST", path, binding("n1"))[0] == 201
    bound = pods.client.get(pods.path("pods", "web"))
    assert (bound["spec"]["nodeName"], bound["status"]["conditions"][0]["type"]) == ("n1", "PodScheduled")
    status, answer = pods.client.call("POST", pods.path("bindings"), binding("n2"))
    assert (status, answer["message"]) == (
        409,
        'Operation cannot be fulfilled on pods/binding "web": pod web is already assigned to node "n1"',
    )


def test_an_eviction_asks_the_disruption_budget(pods: Any) -> None:
    sent = pod(nodeName="n1")
    sent["metadata"]["labels"] = {"app": "web"}
    pods.client.create(pods.path("pods"), sent)
    running = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    pods.client.call("PATCH", f"{pods.path('pods', 'web')}/status", running, **MERGE)
    budgets = pods.path("poddisruptionbudgets", group="apis/policy/v1")
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "pdb"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    pods.client.create(budgets, budget)
    path = f"{pods.path('pods', 'web')}/eviction"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}
    status, answer = pods.client.call("POST", path, eviction)
    assert (status, answer["details"]["causes"][0]["reason"]) == (429, "DisruptionBudget")
    assert answer["details"]["retryAfterSeconds"] == 10
    allowed = {
        "status": {
            "observedGeneration": 1,
            "disruptionsAllowed": 1,
            "currentHealthy": 2,
            "desiredHealthy": 1,
            "expectedPods": 2,
        }
    }
    assert pods.client.call("PATCH", f"{budgets}/pdb/status", allowed, **MERGE)[0] == 200
    assert pods.client.call("POST", path, eviction)[0] == 201
    evicted = pods.client.get(pods.path("pods", "web"))
    assert evicted["status"]["conditions"][-1]["type"] == "DisruptionTarget"
    assert "deletionTimestamp" in evicted["metadata"]
    spent = pods.client.get(f"{budgets}/pdb")["status"]
    assert (spent["disruptionsAllowed"], list(spent["disruptedPods"])) == (0, ["web"])


@pytest.mark.parametrize(
    ("status", "cells"),
    [
        ({"phase": "Pending"}, ["0/1", "Pending", "0"]),
        ({"phase": "Failed", "reason": "Evicted"}, ["0/1", "Evicted", "0"]),
        (
            {"phase": "Running", "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}]},
            ["0/1", "CrashLoopBackOff", "5"],
        ),
        (
            {"phase": "Running", "containerStatuses": [{"ready": True, "state": {"running": {}}}]},
            ["1/1", "Running", "5"],
        ),
        (
            {"phase": "Failed", "containerStatuses": [{"state": {"terminated": {"exitCode": 2}}}]},
            ["0/1", "ExitCode:2", "5"],
        ),
    ],
)
def test_a_table_says_what_a_pod_is_doing_in_one_word(pods: Any, status: dict[str, Any], cells: list[str]) -> None:
    made(pods)
    known = {"name": "web", "image": "a", "imageID": "", "ready": False, "restartCount": 5}
    statuses = [known | s for s in status.get("containerStatuses", [])]
    sent = {"status": status | ({"containerStatuses": statuses} if statuses else {})}
    assert pods.client.call("PATCH", f"{pods.path('pods', 'web')}/status", sent, **MERGE)[0] == 200
    _, table = pods.client.call("GET", pods.path("pods", "web"), **TABLE)
    assert table["rows"][0]["cells"][1:4] == cells


def test_pods_are_selected_by_their_node_and_phase(pods: Any) -> None:
    made(pods, "here", nodeName="n1")
    made(pods, "there", nodeName="n2")
    path = pods.path("pods")
    listed = pods.client.get(f"{path}?fieldSelector=spec.nodeName=n1,status.phase=Pending")
    assert [item["metadata"]["name"] for item in listed["items"]] == ["here"]
    status, answer = pods.client.call("GET", f"{path}?fieldSelector=spec.priority=0")
    assert (status, answer["message"]) == (400, "field label not supported: spec.priority")


def test_a_log_of_a_pod_without_a_node_is_empty_and_its_container_must_be_known(pods: Any) -> None:
    made(pods, containers=[{"name": "a", "image": "x"}, {"name": "b", "image": "x"}])
    path = f"{pods.path('pods', 'web')}/log"
    status, answer = pods.client.call("GET", path)
    assert (status, answer["message"]) == (
        400,
        "a container name must be specified for pod web, choose one of: [a b]",
    )
    assert pods.client.text(f"{path}?container=a") == (204, "")
    status, answer = pods.client.call("GET", f"{path}?container=a&tailLines=")
    assert (status, answer["message"]) == (400, 'strconv.ParseInt: parsing "": invalid syntax')


def test_a_command_needs_a_pod_with_a_node(pods: Any) -> None:
    made(pods)
    status, answer = pods.client.call("POST", f"{pods.path('pods', 'web')}/exec?command=ls&stdout=1")
    assert (status, answer["message"]) == (400, "pod web does not have a host assigned")
    status, answer = pods.client.call("POST", f"{pods.path('pods', 'web')}/exec?command=ls&dryRun=All")
    assert (status, answer["message"]) == (400, "dryRun is not supported")


@pytest.mark.parametrize(
    ("ports", "why"),
    [("80,x", 'parsing "x": invalid syntax'), ("-1", 'parsing "-1": invalid syntax'), ("65536", "value out of range")],
)
def test_ports_to_forward_are_numbers(pods: Any, ports: str, why: str) -> None:
    made(pods)
    status, answer = pods.client.call("POST", f"{pods.path('pods', 'web')}/portforward?ports={ports}")
    assert status == 400
    assert answer["message"].startswith("cannot convert to []int32: strconv.ParseUint: parsing ")
    assert answer["message"].endswith(why)


def test_a_mirror_pod_names_its_node(pods: Any) -> None:
    sent = pod()
    sent["metadata"]["annotations"] = {"kubernetes.io/config.mirror": "x"}
    assert pods.messages("POST", pods.path("pods"), sent)[0] == (
        'metadata.annotations[kubernetes.io/config.mirror]: Invalid value: "x": must set spec.nodeName if mirror pod '
        "annotation is set"
    )


def test_a_node_cannot_be_named_while_gates_are_closed(pods: Any) -> None:
    assert problems(pods, nodeName="n1", schedulingGates=[{"name": "a"}]) == [
        "spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"
    ]


def test_an_eviction_is_refused_for_options_that_a_deletion_would_be(pods: Any) -> None:
    pods.client.create(pods.path("pods"), pod())
    path = f"{pods.path('pods', 'web')}/eviction"
    eviction = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "web"}}

    def asked(query: str = "?dryRun=All", **options: Any) -> tuple[int, Any]:
        status, answer = pods.client.call("POST", path + query, eviction | {"deleteOptions": options})
        return status, answer.get("message")

    assert asked(propagationPolicy="Odd") == (
        422,
        'DeleteOptions.meta.k8s.io "" is invalid: propagationPolicy: Unsupported value: "Odd": '
        'supported values: "Foreground", "Background", "Orphan", "nil"',
    )
    assert asked(dryRun=["Odd"]) == (500, "Non-matching dry-run options in request and content: [All] and [Odd]")
    assert asked("", dryRun=["Odd"])[0] == 422
    elsewhere = eviction | {"metadata": {"name": "web", "namespace": "elsewhere"}}
    assert pods.client.call("POST", path, elsewhere)[0] == 400
    assert pods.client.call("POST", path, eviction | {"apiVersion": "policy/v1beta1"})[0] == 201
