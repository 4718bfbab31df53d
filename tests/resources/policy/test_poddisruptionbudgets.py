from __future__ import annotations

from typing import Any

PATH = "policy/v1:poddisruptionbudgets"
RESERVED = "pdb.kubernetes.io/deprecated-v1beta1-empty-selector-match"


def budget(**spec: Any) -> dict[str, Any]:
    return {"metadata": {"name": "web"}, "spec": {"selector": {"matchLabels": {"app": "web"}}} | spec}


def test_only_one_of_the_two_limits_is_set(api: Any) -> None:
    (problem,) = api.create(PATH, budget(minAvailable=1, maxUnavailable=1)).problems
    assert problem.startswith("spec: Invalid value: ")
    assert problem.endswith("minAvailable and maxUnavailable cannot be both set")


def test_limits_are_counts_or_percentages(api: Any) -> None:
    assert api.create(PATH, budget(minAvailable="101%")).problems == [
        'spec.minAvailable: Invalid value: "101%": must not be greater than 100%'
    ]
    assert api.create(PATH, budget(maxUnavailable=-1)).problems == [
        "spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"
    ]
    (problem,) = api.create(PATH, budget(maxUnavailable="half")).problems
    assert problem.startswith('spec.maxUnavailable: Invalid value: "half": a valid percent string must be')


def test_metadata_is_checked_once_the_rest_is_valid(api: Any) -> None:
    nameless = {"metadata": {}}
    assert api.create(PATH, budget(maxUnavailable=-1) | nameless).problems == [
        "spec.maxUnavailable: Invalid value: -1: must be greater than or equal to 0"
    ]
    assert api.create(PATH, budget(maxUnavailable=1) | nameless).problems == [
        "metadata.name: Required value: name or generateName is required"
    ]


def test_an_update_must_say_what_it_replaces(api: Any) -> None:
    api.made(PATH, budget(minAvailable=1))
    assert api.put(f"{PATH}/web", budget(minAvailable=2)).problems == [
        "metadata.resourceVersion: Invalid value: 0: must be specified for an update"
    ]


def test_the_reserved_key_is_not_mixed_with_others(api: Any) -> None:
    reserved = {"key": RESERVED, "operator": "Exists"}
    mixed = {"matchLabels": {"app": "web"}, "matchExpressions": [reserved]}
    assert api.made(PATH, budget(selector=mixed))["spec"]["selector"] == {"matchLabels": {"app": "web"}}
    alone = budget(selector={"matchExpressions": [reserved]}) | {"metadata": {"name": "nothing"}}
    assert api.made(PATH, alone)["spec"]["selector"] == {"matchExpressions": [reserved]}


def test_conditions_say_what_why_and_since_when(api: Any) -> None:
    api.made(PATH, budget(minAvailable=1))
    conditions = [{"type": "A", "status": "Odd", "reason": "not a reason"}, {"type": "B", "status": "True"}]
    at = "status.conditions"
    problems = api.patch(f"{PATH}/web/status", {"status": {"conditions": conditions}}).problems
    assert [p.partition(":")[0] for p in problems] == [
        f"{at}[0].status",
        f"{at}[0].lastTransitionTime",
        f"{at}[0].reason",
        f"{at}[1].lastTransitionTime",
        f"{at}[1].reason",
    ]


def test_the_columns_show_the_limits(api: Any) -> None:
    api.made(PATH, budget(minAvailable="50%"))
    cells = api.cells(f"{PATH}/web")
    assert (cells["Min Available"], cells["Max Unavailable"], cells["Allowed Disruptions"]) == ("50%", "N/A", 0)
