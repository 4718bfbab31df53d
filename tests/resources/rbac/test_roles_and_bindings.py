"""Roles and bindings: what a rule must say, and that a binding keeps its role."""

from __future__ import annotations

from typing import Any

import pytest

ROLES = "rbac.authorization.k8s.io/v1:clusterroles"
BINDINGS = "rbac.authorization.k8s.io/v1:clusterrolebindings"
READ = {"verbs": ["get"], "apiGroups": [""], "resources": ["pods"]}
VIEW = {"kind": "ClusterRole", "name": "view"}


@pytest.mark.parametrize(
    ("rule", "wrong"),
    [
        (
            {},
            [
                "rules[0].apiGroups: Required value: resource rules must supply at least one api group",
                "rules[0].resources: Required value: resource rules must supply at least one resource",
                "rules[0].verbs: Required value",
            ],
        ),
        (
            {**READ, "nonResourceURLs": ["/x"]},
            [
                'rules[0].nonResourceURLs: Invalid value: ["/x"]: rules cannot apply to both regular resources and '
                "non-resource URLs"
            ],
        ),
    ],
)
def test_a_rule_is_about_resources_or_urls_and_names_verbs(cluster: Any, rule: Any, wrong: list[str]) -> None:
    assert cluster.problems(ROLES, {"kind": "ClusterRole", "rules": [rule]}) == wrong


def test_a_role_of_a_namespace_has_no_urls(api: Any) -> None:
    role = {
        "kind": "Role",
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "metadata": {"name": "r"},
        "rules": [{"verbs": ["get"], "nonResourceURLs": ["/x"]}],
    }
    answer = api.create("rbac.authorization.k8s.io/v1:roles", role)
    assert answer.problems == [
        'rules[0].nonResourceURLs: Invalid value: ["/x"]: namespaced rules cannot apply to non-resource URLs'
    ]


def test_a_role_may_have_any_name_that_can_stand_in_a_path(cluster: Any) -> None:
    name = f"system:Odd_Name:{cluster.name}"
    assert cluster.made(ROLES, {"kind": "ClusterRole", "metadata": {"name": name}})["metadata"]["name"] == name
    assert cluster.problems(ROLES, {"kind": "ClusterRole", "metadata": {"name": "a%b"}}) == [
        "metadata.name: Invalid value: \"a%b\": may not contain '%'"
    ]


def test_an_aggregated_role_selects_something(cluster: Any) -> None:
    path = "aggregationRule.clusterRoleSelectors"
    assert cluster.problems(ROLES, {"kind": "ClusterRole", "aggregationRule": {}}) == [
        f"{path}: Required value: at least one clusterRoleSelector required if aggregationRule is non-nil"
    ]
    bad = {"clusterRoleSelectors": [{"matchExpressions": [{"key": "a", "operator": "Like"}]}]}
    assert cluster.problems(ROLES, {"kind": "ClusterRole", "aggregationRule": bad}) == [
        f'{path}[0].matchExpressions[0].operator: Invalid value: "Like": not a valid selector operator',
        f"{path}[0]: Invalid value: null: invalid label selector.",
    ]


@pytest.mark.parametrize(
    ("subject", "wrong"),
    [
        (
            {"kind": "Robot", "name": "r"},
            'subjects[0].kind: Unsupported value: "Robot": supported values: "ServiceAccount", "User", "Group"',
        ),
        ({"kind": "User"}, "subjects[0].name: Required value"),
        ({"kind": "ServiceAccount", "name": "s"}, "subjects[0].namespace: Required value"),
        (
            {"kind": "User", "name": "u", "apiGroup": "x"},
            'subjects[0].apiGroup: Unsupported value: "x": supported values: "rbac.authorization.k8s.io"',
        ),
    ],
)
def test_a_subject_is_a_user_a_group_or_a_service_account(cluster: Any, subject: Any, wrong: str) -> None:
    body = {"kind": "ClusterRoleBinding", "roleRef": VIEW, "subjects": [subject]}
    assert cluster.problems(BINDINGS, body) == [wrong]


def test_a_binding_keeps_its_role(cluster: Any) -> None:
    made = cluster.made(BINDINGS, {"kind": "ClusterRoleBinding", "roleRef": VIEW})
    assert made["roleRef"]["apiGroup"] == "rbac.authorization.k8s.io"
    answer = cluster.put(BINDINGS, {**made, "roleRef": {**made["roleRef"], "name": "edit"}})
    assert [problem.partition(":")[0] for problem in answer.problems] == ["roleRef"]
    assert answer.problems[0].endswith("field is immutable")
    nobody = [{"kind": "User", "apiGroup": "rbac.authorization.k8s.io"}]
    answer = cluster.put(BINDINGS, {**made, "roleRef": {**made["roleRef"], "name": "edit"}, "subjects": nobody})
    assert [problem.partition(":")[0] for problem in answer.problems] == ["roleRef", "subjects[0].name"]


def test_a_binding_shows_who_holds_the_role(cluster: Any) -> None:
    subjects = [
        {"kind": "User", "name": "ann"},
        {"kind": "Group", "name": "dev"},
        {"kind": "ServiceAccount", "name": "bot", "namespace": "ops"},
    ]
    cluster.made(BINDINGS, {"kind": "ClusterRoleBinding", "roleRef": VIEW, "subjects": subjects})
    cells = cluster.cells(BINDINGS)
    shown = [cells[name] for name in ("Role", "Users", "Groups", "ServiceAccounts")]
    assert shown == ["ClusterRole/view", "ann", "dev", "ops/bot"]
