"""Access reviews, and that nobody grants what they do not hold: against a real server that asks RBAC."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.server_process import Server

RBAC = "/apis/rbac.authorization.k8s.io/v1"
REVIEWS = "/apis/authorization.k8s.io/v1"
PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator:
    folder = tmp_path_factory.mktemp("reviews")
    tokens = folder / "tokens.csv"
    tokens.write_text('admintoken,admin,1,"system:masters"\nusertoken,alice,2,"dev"\n')
    server = Server(folder, f"--token-auth-file={tokens}", "--authorization-mode=Node,RBAC")
    try:
        yield server.start()
    finally:
        server.end()


@pytest.fixture
def admin(server):
    with server.client("", token="admintoken") as client:
        yield client


@pytest.fixture
def alice(server):
    with server.client("", token="usertoken") as client:
        yield client


@pytest.fixture
def grant(admin):
    """Roles and bindings in the default namespace, gone after the test."""
    made = []

    def make(name, *rules, user="alice"):
        path = f"{RBAC}/namespaces/default"
        role = {
            "kind": "Role",
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {"name": name},
            "rules": rules,
        }
        binding = {
            "kind": "RoleBinding",
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "metadata": {"name": name},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
            "subjects": [{"kind": "User", "name": user}],
        }
        admin.create(f"{path}/roles", role)
        admin.create(f"{path}/rolebindings", binding)
        made.append(name)

    yield make
    for name in made:
        admin.call("DELETE", f"{RBAC}/namespaces/default/rolebindings/{name}")
        admin.call("DELETE", f"{RBAC}/namespaces/default/roles/{name}")


def review(client, kind, spec, namespace=""):
    plural = kind.lower() + "s"
    path = f"{REVIEWS}/namespaces/{namespace}/{plural}" if namespace else f"{REVIEWS}/{plural}"
    return client.call("POST", path, {"kind": kind, "apiVersion": "authorization.k8s.io/v1", "spec": spec})


def asks(**attributes):
    return {"resourceAttributes": {"namespace": "default", "verb": "get", "resource": "pods", **attributes}}


def test_a_binding_allows_and_its_end_denies_the_very_next_request(admin, alice, grant):
    pods = "/api/v1/namespaces/default/pods"
    assert alice.call("GET", pods)[0] == 403
    grant("reader", PODS)
    assert alice.call("GET", pods)[0] == 200
    admin.call("DELETE", f"{RBAC}/namespaces/default/rolebindings/reader")
    assert alice.call("GET", pods)[0] == 403


def test_a_review_tells_what_a_request_would_be_told(admin, grant):
    grant("reader", PODS)
    spec = {**asks(), "user": "alice"}
    status, answer = review(admin, "SubjectAccessReview", spec)
    assert (status, answer["status"]["allowed"]) == (201, True)
    assert answer["status"]["reason"].startswith('RBAC: allowed by RoleBinding "reader/default"')
    assert review(admin, "SubjectAccessReview", {**asks(verb="delete"), "user": "alice"})[1]["status"] == {
        "allowed": False
    }
    assert review(admin, "LocalSubjectAccessReview", spec, "default")[1]["status"]["allowed"]
    assert review(admin, "SelfSubjectAccessReview", asks(verb="anything"))[1]["status"] == {"allowed": True}


@pytest.mark.parametrize(
    ("kind", "spec", "message"),
    [
        ("SubjectAccessReview", {"user": "a"}, "exactly one of nonResourceAttributes or resourceAttributes"),
        ("SubjectAccessReview", asks(), "at least one of user or group must be specified"),
        (
            "SubjectAccessReview",
            asks(labelSelector={"requirements": [{"key": "a", "operator": "In"}]}),
            'spec.user: Invalid value: "": at least one of user or group must be specified, spec.resourceAttributes.',
        ),
        ("LocalSubjectAccessReview", {**asks(namespace="x"), "user": "a"}, "must match metadata.namespace"),
        (
            "LocalSubjectAccessReview",
            {"user": "a", "nonResourceAttributes": {"path": "/x"}},
            "disallowed on this kind of request",
        ),
        (
            "SelfSubjectAccessReview",
            asks(labelSelector={"requirements": [{"key": "a", "operator": "In"}]}),
            "must be specified when `operator` is 'In' or 'NotIn'",
        ),
    ],
)
def test_a_review_of_nothing_or_nobody_is_invalid(admin, kind, spec, message):
    status, answer = review(admin, kind, spec, "default" if kind.startswith("Local") else "")
    assert status == 422
    assert message in answer["message"]


def test_a_review_is_told_all_that_is_wrong_with_it_in_order(admin):
    spec = {**asks(labelSelector={}), "nonResourceAttributes": {"path": "/x"}}
    _, answer = review(admin, "SubjectAccessReview", spec, "")
    assert [cause["field"] for cause in answer["details"]["causes"]] == [
        "spec",
        "spec.user",
        "spec.resourceAttributes.labelSelector.requirements",
    ]


@pytest.mark.parametrize(
    ("metadata", "code"),
    [({"uid": "x", "labels": {}, "deletionTimestamp": "2026-01-01T00:00:00Z"}, 201), ({"generation": 2}, 422)],
)
def test_a_review_has_no_metadata_of_its_own(admin, metadata, code):
    body = {"metadata": metadata, "spec": asks()}
    status, answer = admin.call("POST", f"{REVIEWS}/selfsubjectaccessreviews", body)
    assert status == code
    if code == 422:
        assert 'metadata: Invalid value: {"generation":2,"managedFields":[' in answer["message"]


def test_who_is_in_no_group_may_not_even_ask_for_health(admin):
    spec = {"user": "alice", "nonResourceAttributes": {"path": "/healthz", "verb": "get"}}
    assert review(admin, "SubjectAccessReview", spec)[1]["status"] == {"allowed": False}


def test_a_selector_that_cannot_be_read_is_told_and_the_question_answered(admin):
    status, answer = review(admin, "SelfSubjectAccessReview", asks(fieldSelector={"rawSelector": "&&"}))
    assert (status, answer["status"]["allowed"]) == (201, True)
    assert answer["status"]["evaluationError"] == "spec.resourceAttributes.fieldSelector ignored due to parse error"


def test_reviews_are_only_created(admin):
    assert admin.call("GET", f"{REVIEWS}/subjectaccessreviews")[0] == 405
    assert admin.call("GET", f"{REVIEWS}/subjectaccessreviews/x")[0] == 404
    assert admin.call("POST", f"{REVIEWS}/localsubjectaccessreviews", {})[0] == 404


def test_whoever_may_escalate_may_grant_more_than_they_hold(alice, grant):
    rbac = "rbac.authorization.k8s.io"
    grant("writer", {"verbs": ["*"], "apiGroups": [rbac], "resources": ["roles", "rolebindings"]}, PODS)
    path = f"{RBAC}/namespaces/default/roles"

    def role(*rules):
        return {"kind": "Role", "apiVersion": f"{rbac}/v1", "metadata": {"name": "mine"}, "rules": list(rules)}

    # The star includes `escalate`.
    status, _ = alice.call("POST", f"{path}?dryRun=All", role({**PODS, "verbs": ["delete"]}))
    assert status == 201


def test_a_rule_that_is_not_held_is_told(alice, grant):
    rbac = "rbac.authorization.k8s.io"
    grant("writer", {"verbs": ["create"], "apiGroups": [rbac], "resources": ["roles", "rolebindings"]}, PODS)
    rule = {"verbs": ["delete", "get"], "apiGroups": [""], "resources": ["pods"]}
    role = {"kind": "Role", "apiVersion": f"{rbac}/v1", "metadata": {"name": "mine"}, "rules": [rule]}
    status, answer = alice.call("POST", f"{RBAC}/namespaces/default/roles", role)
    assert status == 403
    assert answer["message"].endswith('not currently held:\n{APIGroups:[""], Resources:["pods"], Verbs:["delete"]}')
    binding = {
        "kind": "RoleBinding",
        "apiVersion": f"{rbac}/v1",
        "metadata": {"name": "mine"},
        "roleRef": {"apiGroup": rbac, "kind": "Role", "name": "nosuch"},
        "subjects": [{"kind": "User", "name": "alice"}],
    }
    status, answer = alice.call("POST", f"{RBAC}/namespaces/default/rolebindings", binding)
    assert (status, answer["message"]) == (404, f'rolebindings.{rbac} "nosuch" not found')


@pytest.mark.parametrize(
    ("role", "code", "message"),
    [
        ({"kind": "Pod", "name": "x"}, 500, 'unsupported role reference kind: "Pod"'),
        ({"kind": "Role"}, 400, "Name parameter required."),
        ({"kind": "ClusterRole", "name": "a/b"}, 400, "Name parameter invalid: \"a/b\": may not contain '/'"),
    ],
)
def test_what_is_bound_is_looked_for_before_the_binding_is_judged(alice, grant, role, code, message):
    grant("binder", {"verbs": ["create"], "apiGroups": ["rbac.authorization.k8s.io"], "resources": ["rolebindings"]})
    body = {"metadata": {"name": "b"}, "roleRef": {"apiGroup": "rbac.authorization.k8s.io", **role}}
    status, answer = alice.call("POST", f"{RBAC}/namespaces/default/rolebindings", body)
    assert (status, answer["message"]) == (code, message)


def test_an_apply_that_creates_needs_create(alice, grant):
    grant("patcher", {"verbs": ["patch", "get"], "apiGroups": [""], "resources": ["configmaps"]})
    status, answer = alice.call(
        "PATCH",
        "/api/v1/namespaces/default/configmaps/new?fieldManager=m",
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "new"}},
        content_type="application/apply-patch+yaml",
    )
    assert status == 403
    assert 'User "alice" cannot create resource "configmaps"' in answer["message"]


def test_a_selectors_requirements_are_all_checked(admin):
    selector = {"rawSelector": "a=b", "requirements": [{"key": "", "operator": "In", "values": []}]}
    attributes = {"verb": "list", "resource": "pods", "fieldSelector": selector}
    review = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": attributes},
    }
    status, answer = admin.call("POST", f"{REVIEWS}/selfsubjectaccessreviews", review)
    path = "spec.resourceAttributes.fieldSelector"
    assert (status, [cause["field"] for cause in answer["details"]["causes"]]) == (
        422,
        [f"{path}.rawSelector", f"{path}.requirements[0].key", f"{path}.requirements[0].values"],
    )
