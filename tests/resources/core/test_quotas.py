"""Quotas and limit ranges: what can be counted, and limits that contradict each other."""

from __future__ import annotations

from typing import Any

import pytest

QUOTAS, LIMITS = "v1:resourcequotas", "v1:limitranges"


def quota(**spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": {"name": "q"}, "spec": spec}


def limit_range(*limits: Any, name: str | None = "l") -> dict[str, Any]:
    metadata = {"name": name} if name else {}
    return {"apiVersion": "v1", "kind": "LimitRange", "metadata": metadata, "spec": {"limits": list(limits)}}


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        (
            {"hard": {"warp": "1"}},
            [
                'spec.hard[warp]: Invalid value: "warp": must be a standard resource type or fully qualified',
                'spec.hard[warp]: Invalid value: "warp": must be a standard resource for quota',
            ],
        ),
        ({"hard": {"pods": "1500m"}}, ['spec.hard[pods]: Invalid value: "1500m": must be an integer']),
        ({"hard": {"cpu": "-1"}}, ['spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0']),
        (
            {"hard": {"cpu": "1"}, "scopes": ["BestEffort"]},
            ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
        ),
        (
            {"scopes": ["BestEffort", "NotBestEffort"]},
            ['spec.scopes: Invalid value: ["BestEffort","NotBestEffort"]: conflicting scopes'],
        ),
        (
            {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]}},
            [
                "spec.scopeSelector.matchExpressions.values: Required value: must be at least one value when "
                "`operator` is 'In' or 'NotIn' for scope selector"
            ],
        ),
    ],
)
def test_a_quota_counts_what_can_be_counted(api: Any, spec: Any, wrong: list[str]) -> None:
    assert api.create(QUOTAS, quota(**spec)).problems == wrong


def test_the_scopes_of_a_quota_stay(api: Any) -> None:
    made = api.made(QUOTAS, quota(scopes=["Terminating"]))
    assert api.put(f"{QUOTAS}/q", {**made, "spec": {}}).problems == [
        "spec.scopes: Invalid value: null: field is immutable"
    ]


def test_requesting_more_than_may_be_used_is_warned_of(api: Any) -> None:
    answer = api.create(QUOTAS, quota(hard={"cpu": "4", "limits.cpu": "2"}))
    assert answer.warnings == ["ResourceQuota cpu (4) should be less than limits.cpu (2)"]


def test_a_quota_shows_requests_and_limits_apart(api: Any) -> None:
    made = api.made(QUOTAS, quota(hard={"pods": "5"}))
    made["status"] = {"hard": {"pods": "5", "limits.cpu": "2"}, "used": {"pods": "1"}}
    assert api.put(f"{QUOTAS}/q/status", made).status == 200
    cells = api.cells(f"{QUOTAS}/q")
    assert (cells["Request"], cells["Limit"]) == ("pods: 1/5", "limits.cpu: 0/2")


def test_what_a_container_gets_follows_from_what_is_allowed(api: Any) -> None:
    made = api.made(LIMITS, limit_range({"type": "Container", "max": {"cpu": "2"}, "min": {"memory": "1Mi"}}))
    [limit] = made["spec"]["limits"]
    assert limit["default"] == {"cpu": "2"}
    assert limit["defaultRequest"] == {"cpu": "2", "memory": "1Mi"}


def test_a_limit_range_without_a_name_is_given_one(api: Any) -> None:
    assert len(api.made(LIMITS, limit_range(name=None))["metadata"]["name"]) == 36


def test_an_empty_list_of_limits_is_owned_by_who_gave_it(api: Any) -> None:
    made = api.made(LIMITS, limit_range())
    assert made["spec"] == {"limits": None}
    assert made["metadata"]["managedFields"][0]["fieldsV1"] == {"f:spec": {"f:limits": {}}}


@pytest.mark.parametrize(
    ("limit", "wrong"),
    [
        (
            {"type": "Pod", "default": {"cpu": "1"}},
            ["spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'"],
        ),
        (
            {"type": "Pod", "min": {"cpu": "2"}, "max": {"cpu": "1"}},
            ['spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1'],
        ),
        (
            {"type": "PersistentVolumeClaim"},
            [
                "spec.limits[0].limits: Required value: either minimum or maximum storage value is required, but "
                "neither was provided"
            ],
        ),
        (
            {"type": "Pod", "min": {"cpu": "1"}, "max": {"cpu": "2"}, "maxLimitRequestRatio": {"cpu": "3"}},
            [
                'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is greater than max/min = '
                "2.000000"
            ],
        ),
    ],
)
def test_limits_do_not_contradict_each_other(api: Any, limit: Any, wrong: list[str]) -> None:
    assert api.create(LIMITS, limit_range(limit)).problems == wrong
