"""ABAC: policies of both forms, whom and what they match, and files that cannot be used."""

from __future__ import annotations

import asyncio
import json

import pytest

from kapi.api.authorizer import Decision
from kapi.api.request_info import parse_request_info
from kapi.api.user import User
from kapi.authz.abac import ABAC, PolicyFileError

ALICE = User(name="alice", groups=("dev", "system:authenticated"))
NOBODY = User(name="system:anonymous", groups=("system:unauthenticated",))


@pytest.fixture
def policy(tmp_path):
    def load(*lines):
        path = tmp_path / "policy.jsonl"
        path.write_text("\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines))
        return ABAC.load(path)

    return load


def v1beta1(**spec):
    return {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Policy", "spec": spec}


def allowed(abac, user, target, method="GET"):
    verdict = asyncio.run(abac.authorize(user, parse_request_info(method, target, {})))
    assert verdict.decision is Decision.ALLOW or verdict.reason == "No policy matched."
    return verdict.decision is Decision.ALLOW


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"user": "alice"}, True),
        ({"user": "*"}, True),
        ({"user": "bob"}, False),
        ({"group": "dev"}, True),
        ({"group": "*"}, True),
        ({"user": "alice", "group": "ops"}, False),
        ({"user": "alice", "group": "dev"}, True),
        ({"user": "bob", "group": "dev"}, False),
        ({}, False),
    ],
)
def test_a_policy_is_for_those_who_are_both_the_user_and_in_the_group_it_names(policy, spec, expected):
    abac = policy(v1beta1(namespace="*", resource="*", apiGroup="*", **spec))
    assert allowed(abac, ALICE, "/api/v1/namespaces/a/pods") is expected


@pytest.mark.parametrize(
    ("spec", "method", "target", "expected"),
    [
        ({"namespace": "a", "resource": "pods"}, "POST", "/api/v1/namespaces/a/pods", True),
        ({"namespace": "a", "resource": "pods"}, "GET", "/api/v1/namespaces/b/pods", False),
        ({"namespace": "a", "resource": "pods"}, "GET", "/api/v1/pods", False),
        ({"namespace": "*", "resource": "pods"}, "GET", "/api/v1/pods", True),
        ({"namespace": "*", "resource": "deployments"}, "GET", "/apis/apps/v1/deployments", False),
        ({"namespace": "*", "resource": "deployments", "apiGroup": "*"}, "GET", "/apis/apps/v1/deployments", True),
        ({"namespace": "*", "resource": "pods", "readonly": True}, "GET", "/api/v1/namespaces/a/pods/x", True),
        ({"namespace": "*", "resource": "pods", "readonly": True}, "DELETE", "/api/v1/namespaces/a/pods/x", False),
        ({"namespace": "*", "resource": "*", "apiGroup": "*"}, "GET", "/version", False),
        ({"nonResourcePath": "*"}, "GET", "/api/v1/pods", False),
        ({"nonResourcePath": "/version"}, "GET", "/version", True),
        ({"nonResourcePath": "/version"}, "GET", "/version/x", False),
        ({"nonResourcePath": "/logs/*"}, "GET", "/logs/x", True),
        ({"nonResourcePath": "/logs/*", "readonly": True}, "POST", "/logs/x", False),
    ],
)
def test_a_policy_allows_what_it_names(policy, spec, method, target, expected):
    assert allowed(policy(v1beta1(user="alice", **spec)), ALICE, target, method) is expected


@pytest.mark.parametrize(
    ("fields", "user", "target", "expected"),
    [
        ({}, ALICE, "/version", True),
        ({}, NOBODY, "/version", False),
        ({"user": "*"}, NOBODY, "/api/v1/pods", False),
        ({"group": "*"}, ALICE, "/apis/apps/v1/deployments", True),
        ({"user": "alice", "resource": "pods"}, ALICE, "/api/v1/namespaces/a/pods", True),
        ({"user": "alice", "resource": "pods"}, ALICE, "/version", False),
        ({"user": "bob"}, ALICE, "/version", False),
        ({"apiVersion": "abac.authorization.kubernetes.io/v0", "kind": "Policy"}, ALICE, "/version", True),
    ],
)
def test_what_the_older_form_leaves_out_matches_everything(policy, fields, user, target, expected):
    assert allowed(policy(fields), user, target) is expected


def test_any_of_several_policies_will_do_and_comments_and_blanks_are_none(policy):
    abac = policy("# people", "", v1beta1(user="bob", nonResourcePath="*"), "  ", v1beta1(user="alice", namespace="*"))
    assert allowed(abac, User(name="bob"), "/version")
    assert not allowed(abac, ALICE, "/version")
    assert not allowed(policy(), ALICE, "/version")


def test_the_rules_of_a_user_are_those_of_the_namespace(policy):
    abac = policy(
        v1beta1(user="alice", namespace="*", resource="pods", readonly=True),
        v1beta1(user="alice", namespace="a", resource="secrets", nonResourcePath="/version"),
        v1beta1(user="alice", namespace="b", resource="nodes"),
        v1beta1(user="bob", namespace="*", resource="nodes"),
    )
    known = asyncio.run(abac.known_rules(ALICE, "a"))
    assert known.rules == [
        {"verbs": ["get", "list", "watch"], "apiGroups": [""], "resources": ["pods"]},
        {"verbs": ["*"], "apiGroups": [""], "resources": ["secrets"]},
        {"verbs": ["*"], "nonResourceURLs": ["/version"]},
    ]
    assert not known.incomplete


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: {: "),
        ("[]", "line 2: []: it is no object"),
        ({"apiVersion": "v9", "kind": "Policy"}, 'no kind "Policy" is registered for version "v9"'),
        (
            {"apiVersion": "abac.authorization.kubernetes.io/v1beta1", "kind": "Rule"},
            'no kind "Rule" is registered for version "abac.authorization.kubernetes.io/v1beta1"',
        ),
        (v1beta1(user=3), "user is no string"),
        (v1beta1(user="alice", readonly="yes"), "readonly is no boolean"),
    ],
)
def test_a_line_that_is_no_policy_is_told_with_its_number(policy, line, problem):
    with pytest.raises(PolicyFileError, match=r"^error reading policy file .*policy.jsonl, line 2: ") as caught:
        policy("# a comment", line)
    assert problem in str(caught.value)


def test_a_server_without_a_good_policy_does_not_start(new_server, tmp_path):
    path = tmp_path / "policy.jsonl"
    path.write_text('{"apiVersion": "v9", "kind": "Policy"}\n')
    server = new_server("--authorization-mode=ABAC", f"--authorization-policy-file={path}").launch()
    assert server.exit_status() == 1
    assert f"Error: error reading policy file {path}, line 1: " in server.said


def test_reviews_and_refusals_tell_of_the_policy(new_server, tmp_path):
    path = tmp_path / "policy.jsonl"
    path.write_text(json.dumps(v1beta1(user="alice", namespace="*", resource="pods", readonly=True)))
    server = new_server("--authorization-mode=ABAC", f"--authorization-policy-file={path}").start()
    with server.client("alice") as alice, server.client() as admin:
        assert alice.call("GET", "/api/v1/pods")[0] == 200
        status, refusal = alice.call("DELETE", "/api/v1/namespaces/default/pods/x")
        assert (status, refusal["message"]) == (
            403,
            'pods "x" is forbidden: User "alice" cannot delete resource "pods" in API group "" in the namespace '
            '"default": abac: No policy matched.',
        )
        spec = {"user": "alice", "resourceAttributes": {"resource": "pods", "verb": "list"}}
        review = {"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}
        reviews = "/apis/authorization.k8s.io/v1/subjectaccessreviews"
        assert admin.create(reviews, review)["status"] == {"allowed": True}
