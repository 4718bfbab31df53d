from __future__ import annotations

from typing import Any

PATH = "batch/v1:jobs"
UID, NAME = "batch.kubernetes.io/controller-uid", "batch.kubernetes.io/job-name"
COMPLETE = [{"type": "SuccessCriteriaMet", "status": "True"}, {"type": "Complete", "status": "True"}]


def test_a_job_selects_its_pods_by_its_uid(api: Any, job: Any) -> None:
    made = api.made(PATH, job())
    uid = made["metadata"]["uid"]
    assert made["spec"]["selector"] == {"matchLabels": {UID: uid}}
    labels = {UID: uid, "controller-uid": uid, NAME: "task", "job-name": "task"}
    assert made["spec"]["template"]["metadata"]["labels"] == labels
    assert made["metadata"]["labels"] == labels


def test_a_job_with_labels_keeps_them(api: Any, job: Any) -> None:
    wanted = job()
    wanted["metadata"]["labels"] = {"a": "b"}
    assert api.made(PATH, wanted)["metadata"]["labels"] == {"a": "b"}


def test_a_name_that_makes_no_label_is_refused_where_it_would_be_one(api: Any, job: Any) -> None:
    wanted = job()
    wanted["metadata"]["name"] = "n" * 64
    (problem,) = api.create(PATH, wanted).problems
    assert problem.startswith("spec.template.labels: ") and problem.endswith("must be no more than 63 bytes")


def test_labels_that_contradict_the_generated_ones_are_refused(api: Any, job: Any) -> None:
    wanted = job()
    wanted["spec"]["template"]["metadata"] = {"labels": {"job-name": "other"}}
    problems = api.create(PATH, wanted).problems
    assert problems[0].startswith("spec.template.metadata.labels[job-name]: Invalid value")
    assert problems[0].endswith("must be 'task'")


def test_a_selector_of_ones_own_must_be_asked_for(api: Any, job: Any) -> None:
    selector = {"matchLabels": {"a": "b"}}
    problems = api.create(PATH, job(selector=selector)).problems
    assert [p.rpartition(": ")[2] for p in problems] == [
        "`selector` not auto-generated",
        "`selector` does not match template `labels`",
    ]
    wanted = job(selector=selector, manualSelector=True)
    wanted["spec"]["template"]["metadata"] = {"labels": {"a": "b"}}
    assert api.made(PATH, wanted)["spec"]["selector"] == selector


def test_pods_of_a_job_must_be_able_to_end(api: Any, job: Any) -> None:
    wanted = job()
    wanted["spec"]["template"]["spec"]["restartPolicy"] = "Always"
    assert api.create(PATH, wanted).problems == [
        'spec.template.spec.restartPolicy: Required value: valid values: "OnFailure", "Never"'
    ]


def test_limits_per_index_need_indexes(api: Any, job: Any) -> None:
    assert api.create(PATH, job(backoffLimitPerIndex=1, maxFailedIndexes=1)).problems == [
        "spec.backoffLimitPerIndex: Invalid value: 1: requires indexed completion mode",
        "spec.maxFailedIndexes: Invalid value: 1: requires indexed completion mode",
    ]
    assert api.create(PATH, job(completionMode="Indexed", completions=1, maxFailedIndexes=2)).problems == [
        "spec.backoffLimitPerIndex: Required value: when maxFailedIndexes is specified",
        "spec.maxFailedIndexes: Invalid value: 2: must be less than or equal to completions",
    ]


def test_huge_indexed_jobs_limit_their_failures(api: Any, job: Any) -> None:
    huge = {"completionMode": "Indexed", "completions": 100_001, "backoffLimitPerIndex": 1}
    assert api.create(PATH, job(**huge, parallelism=10_001)).problems == [
        "spec.maxFailedIndexes: Required value: must be specified when completions is above 100000",
        "spec.parallelism: Invalid value: 10001: must be less than or equal to 10000 when completions are above 100000 "
        "and used with backoff limit per index",
    ]


def test_a_manager_is_a_domain_and_a_path(api: Any, job: Any) -> None:
    assert api.create(PATH, job(managedBy="me")).problems == [
        'spec.managedBy: Invalid value: "me": must be a domain-prefixed path (such as "acme.io/foo")'
    ]
    long = "example.com/" + "x" * 60
    assert api.create(PATH, job(managedBy=long)).problems == ["spec.managedBy: Too long: may not be more than 63 bytes"]


def test_rules_of_a_failure_policy_say_what_they_mean(api: Any, job: Any) -> None:
    rules = [
        {"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [0, 2, 1, 1]}},
        {"action": "Ignore", "onPodConditions": [{"type": "x y", "status": "Odd"}]},
    ]
    at = "spec.podFailurePolicy.rules"
    problems = api.create(PATH, job(podFailurePolicy={"rules": rules})).problems
    assert problems[:4] == [
        f'{at}[0].action: Invalid value: "FailIndex": requires the backoffLimitPerIndex to be set',
        f"{at}[0].onExitCodes.values[0]: Invalid value: 0: must not be 0 for the In operator",
        f"{at}[0].onExitCodes.values[3]: Duplicate value: 1",
        f"{at}[0].onExitCodes.values: Invalid value: [0,2,1,1]: must be ordered",
    ]
    assert [p.partition(":")[0] for p in problems[4:]] == [
        f"{at}[1].onPodConditions[0].type",
        f"{at}[1].onPodConditions[0].status",
    ]


def test_a_success_policy_counts_indexes_that_exist(api: Any, job: Any) -> None:
    rules = [{"succeededIndexes": "0,2-3", "succeededCount": 4}, {"succeededIndexes": "1-9"}, {}]
    wanted = job(completionMode="Indexed", completions=5, successPolicy={"rules": rules})
    at = "spec.successPolicy.rules"
    assert api.create(PATH, wanted).problems == [
        f"{at}[0].succeededCount: Invalid value: 4: must be less than or equal to 3 "
        "(the number of indexes in the specified succeededIndexes field)",
        f'{at}[1].succeededIndexes: Invalid value: "1-9": error parsing succeededIndexes: too large index: "9"',
        f"{at}[2]: Required value: at least one of succeededCount or succeededIndexes must be specified",
    ]


def test_an_indexed_job_leaves_room_for_its_indexes_in_hostnames(api: Any, job: Any) -> None:
    name = "a" * 62
    assert api.create(PATH, job(name, completionMode="Indexed", completions=1)).problems == [
        f'metadata.name: Invalid value: "{name}": will not able to create pod with invalid DNS label: {name}-0'
    ]


def test_completions_of_a_plain_job_are_immutable_and_those_of_an_indexed_one_go_with_parallelism(
    api: Any, job: Any
) -> None:
    api.made(PATH, job())
    assert api.patch(f"{PATH}/task", {"spec": {"completions": 2}}).problems == [
        "spec.completions: Invalid value: 2: field is immutable"
    ]
    api.made(PATH, job("indexed", completionMode="Indexed", completions=2, parallelism=2))
    at = f"{PATH}/indexed"
    assert api.patch(at, {"spec": {"completions": 3}}).problems == [
        "spec.completions: Invalid value: 3: can only be modified in tandem with spec.parallelism"
    ]
    assert api.patch(at, {"spec": {"completions": 3, "parallelism": 3}}).body["spec"]["completions"] == 3


def test_a_running_jobs_template_is_immutable(api: Any, job: Any) -> None:
    api.made(PATH, job())
    (problem,) = api.patch(f"{PATH}/task", {"spec": {"template": {"metadata": {"labels": {"a": "b"}}}}}).problems
    assert problem.startswith("spec.template: Invalid value: ") and problem.endswith("field is immutable")


def test_a_suspended_job_may_change_where_and_with_what_its_pods_run(api: Any, job: Any) -> None:
    api.made(PATH, job(suspend=True))
    at = f"{PATH}/task"
    where = {"nodeSelector": {"a": "b"}, "affinity": {"nodeAffinity": {}}}
    assert api.patch(at, {"spec": {"template": {"spec": where}}}).status == 200
    container = {"name": "task", "resources": {"requests": {"cpu": "1"}}}
    assert api.patch(at, {"spec": {"template": {"spec": {"containers": [container]}}}}, "strategic").status == 200
    image = {"spec": {"template": {"spec": {"containers": [{"name": "task", "image": "other"}]}}}}
    (problem,) = api.patch(at, image, "strategic").problems
    assert problem.startswith("spec.template.spec: Invalid value: ")


def test_a_suspended_job_whose_pods_are_still_there_may_not(api: Any, job: Any) -> None:
    api.made(PATH, job(suspend=True))
    api.patch(f"{PATH}/task/status", {"status": {"active": 1}})
    patch = {"spec": {"template": {"spec": {"nodeSelector": {"a": "b"}}}}}
    assert api.patch(f"{PATH}/task", patch).problems[0].startswith("spec.template: Invalid value: ")


def test_a_job_is_complete_when_all_of_its_status_says_so(api: Any, job: Any) -> None:
    api.made(PATH, job())
    at = f"{PATH}/task/status"
    alone = {"active": 1, "conditions": [{"type": "Complete", "status": "True"}]}
    assert api.patch(at, {"status": alone}).problems == [
        "status.completionTime: Required value: completionTime is required for Complete jobs",
        "status.conditions: Invalid value: cannot set Complete=True condition without the "
        "SuccessCriteriaMet=true condition",
        "status.active: Invalid value: 1: active>0 is invalid for finished job",
        "status.startTime: Required value: startTime is required for finished job",
    ]
    times = {"startTime": "2024-05-01T10:00:00Z", "completionTime": "2024-05-01T09:00:00Z"}
    assert api.patch(at, {"status": {**times, "conditions": COMPLETE}}).problems == [
        'status.completionTime: Invalid value: "2024-05-01T09:00:00Z": must be equal to or after `startTime`'
    ]


def test_a_finished_job_stays_finished(api: Any, job: Any) -> None:
    api.made(PATH, job())
    at = f"{PATH}/task/status"
    times = {"startTime": "2024-05-01T10:00:00Z", "completionTime": "2024-05-01T10:05:00Z"}
    assert api.patch(at, {"status": {**times, "succeeded": 1, "conditions": COMPLETE}}).status == 200
    later = {"status": {"succeeded": 0, "completionTime": "2024-05-01T10:06:00Z", "conditions": COMPLETE}}
    assert api.patch(at, later).problems == [
        "status.succeeded: Invalid value: 0: cannot decrease the succeeded counter",
        'status.completionTime: Invalid value: "2024-05-01T10:06:00Z": field is immutable',
    ]
    failed = {"status": {"conditions": [*COMPLETE, {"type": "Failed", "status": "True"}]}}
    assert (
        "status.conditions: Invalid value: cannot set Complete=True and Failed=true conditions"
        in api.patch(at, failed).problems
    )
    cells = api.cells(f"{PATH}/task")
    assert (cells["Status"], cells["Completions"], cells["Duration"]) == ("Complete", "1/1", "5m")
    assert len(api.get(f"{PATH}?fieldSelector=status.successful=1")["items"]) == 1


def test_indexes_are_either_completed_or_failed(api: Any, job: Any) -> None:
    api.made(PATH, job(completionMode="Indexed", completions=5, backoffLimitPerIndex=1))
    at = f"{PATH}/task/status"
    assert api.patch(at, {"status": {"completedIndexes": "0-2", "failedIndexes": "2,4"}}).problems == [
        'status.failedIndexes: Invalid value: "2,4": failedIndexes and completedIndexes overlap at index: 2'
    ]
    assert api.patch(at, {"status": {"completedIndexes": "1,0"}}).problems == [
        'status.completedIndexes: Invalid value: "1,0": error parsing completedIndexes: '
        "non-increasing order, previous: 1, current: 0"
    ]


def test_deleting_a_job_without_saying_how_orphans_its_pods_and_warns(api: Any, job: Any) -> None:
    api.made(PATH, job())
    deleted = api.call("DELETE", f"{PATH}/task")
    assert deleted.body["metadata"]["finalizers"] == ["orphan"]
    assert deleted.warnings[0].startswith("child pods are preserved by default when jobs are deleted;")
    api.made(PATH, job("other"))
    background = api.call("DELETE", f"{PATH}/other?propagationPolicy=Background")
    assert (background.body["kind"], background.warnings) == ("Status", [])


def test_an_unknown_field_selector_names_the_kind(api: Any) -> None:
    answer = api.call("GET", f"{PATH}?fieldSelector=spec.parallelism=2")
    assert answer.body["message"] == 'field label "spec.parallelism" not supported for Job'


def test_a_work_queue_shows_how_many_work_on_it(api: Any, job: Any) -> None:
    api.made(PATH, job(parallelism=3))
    assert api.cells(f"{PATH}/task")["Completions"] == "0/1 of 3"
