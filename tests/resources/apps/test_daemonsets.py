from __future__ import annotations

from typing import Any

PATH = "apps/v1:daemonsets"
GENERATION = "deprecated.daemonset.template.generation"


def test_either_surge_or_unavailability_moves_an_update(api: Any, workload: Any) -> None:
    def problems(**rolling: Any) -> Any:
        return api.create(PATH, workload(updateStrategy={"rollingUpdate": rolling})).problems

    at = "spec.updateStrategy.rollingUpdate"
    assert problems(maxUnavailable=0) == [f"{at}.maxUnavailable: Required value: cannot be 0 when maxSurge is 0"]
    assert problems(maxUnavailable=1, maxSurge="10%") == [
        f'{at}.maxSurge: Invalid value: "10%": may not be set when maxUnavailable is non-zero'
    ]
    assert problems(maxUnavailable=0, maxSurge="200%") == [
        f'{at}.maxSurge: Invalid value: "200%": must not be greater than 100%'
    ]


def test_an_unknown_strategy_is_refused(api: Any, workload: Any) -> None:
    assert api.create(PATH, workload(updateStrategy={"type": "Slowly"})).problems == [
        'spec.updateStrategy: Unsupported value: {"Type":"Slowly","RollingUpdate":null}: '
        'supported values: "RollingUpdate", "OnDelete"'
    ]


def test_a_missing_selector_selects_nothing(api: Any, workload: Any) -> None:
    assert api.create(PATH, workload(selector=None)).problems == [
        'spec.template.metadata.labels: Invalid value: {"app":"web"}: `selector` does not match template `labels`'
    ]


def test_the_generation_of_the_template_is_counted_in_an_annotation(api: Any, workload: Any) -> None:
    made = api.made(PATH, workload())
    assert made["metadata"]["annotations"] == {GENERATION: "1"}
    at = f"{PATH}/web"
    same = api.patch(at, {"spec": {"minReadySeconds": 5}}).body
    assert (same["metadata"]["annotations"][GENERATION], same["metadata"]["generation"]) == ("1", 2)
    changed = api.patch(at, {"spec": {"template": {"metadata": {"labels": {"b": "c"}}}}}).body
    assert (changed["metadata"]["annotations"][GENERATION], changed["metadata"]["generation"]) == ("2", 3)
    replaced = api.put(f"{at}/status", workload()).body
    assert replaced["metadata"]["annotations"][GENERATION] == "2"


def test_the_annotation_is_no_metadata_of_its_own(api: Any, workload: Any) -> None:
    api.made(PATH, workload())
    partial = api.get(f"{PATH}/web", accept="application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io")
    assert "annotations" not in partial["metadata"]


def test_the_columns_show_nodes(api: Any, workload: Any) -> None:
    wanted = workload()
    wanted["spec"]["template"]["spec"]["nodeSelector"] = {"b": "2", "a": "1"}
    api.made(PATH, wanted)
    status = {"desiredNumberScheduled": 3, "currentNumberScheduled": 2, "numberReady": 1, "numberMisscheduled": 0}
    api.patch(f"{PATH}/web/status", {"status": status})
    cells = api.cells(f"{PATH}/web")
    assert (cells["Desired"], cells["Current"], cells["Ready"], cells["Available"]) == (3, 2, 1, 0)
    assert cells["Node Selector"] == "a=1,b=2"
