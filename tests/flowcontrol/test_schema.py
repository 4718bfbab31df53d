"""Which requests a flow schema matches."""

from __future__ import annotations

import pytest

from kapi.api.user import User
from kapi.flowcontrol.schema import Schema

ANYTHING = {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"], "clusterScope": True, "namespaces": ["*"]}
ROBOT = User(name="system:serviceaccount:robots:r2", groups=("system:serviceaccounts", "system:authenticated"))


def schema(*subjects, resources=(ANYTHING,), urls=(), method=None):
    rule = {"subjects": list(subjects), "resourceRules": list(resources), "nonResourceRules": list(urls)}
    spec = {"priorityLevelConfiguration": {"name": "low"}, "matchingPrecedence": 7, "rules": [rule]}
    if method:
        spec["distinguisherMethod"] = {"type": method}
    return Schema({"metadata": {"name": "s", "uid": "u"}, "spec": spec})


def user(name):
    return {"kind": "User", "user": {"name": name}}


def group(name):
    return {"kind": "Group", "group": {"name": name}}


def account(namespace, name):
    return {"kind": "ServiceAccount", "serviceAccount": {"namespace": namespace, "name": name}}


@pytest.mark.parametrize(
    ("subject", "matches"),
    [
        (user("*"), True),
        (user(ROBOT.name), True),
        (user("alice"), False),
        (group("*"), True),
        (group("system:serviceaccounts"), True),
        (group("dev"), False),
        (account("robots", "r2"), True),
        (account("robots", "*"), True),
        (account("robot", "*"), False),
        (account("robots", "r"), False),
        ({"kind": "User"}, False),
        ({"kind": "Robot"}, False),
    ],
)
def test_subjects(info, subject, matches):
    assert schema(subject).matches(ROBOT, info()) is matches


@pytest.mark.parametrize(
    ("changed", "target", "method", "matches"),
    [
        ({}, "/apis/apps/v1/namespaces/x/deployments", "GET", True),
        ({"verbs": ["list"]}, "/apis/apps/v1/namespaces/x/deployments", "GET", True),
        ({"verbs": ["get"]}, "/apis/apps/v1/namespaces/x/deployments", "GET", False),
        ({"apiGroups": ["apps"]}, "/api/v1/namespaces/x/pods", "GET", False),
        ({"resources": ["deployments"]}, "/apis/apps/v1/namespaces/x/deployments/y/scale", "GET", False),
        ({"resources": ["deployments/scale"]}, "/apis/apps/v1/namespaces/x/deployments/y/scale", "PUT", True),
        ({"namespaces": ["y"]}, "/api/v1/namespaces/x/pods", "GET", False),
        ({"namespaces": ["x"]}, "/api/v1/namespaces/x/pods", "GET", True),
        ({"clusterScope": False}, "/api/v1/nodes", "GET", False),
        ({"namespaces": []}, "/api/v1/nodes", "GET", True),
        ({}, "/healthz", "GET", False),
    ],
)
def test_resource_rules(info, changed, target, method, matches):
    assert schema(user("*"), resources=[ANYTHING | changed]).matches(ROBOT, info(target, method)) is matches


@pytest.mark.parametrize(
    ("url", "path", "matches"),
    [
        ("*", "/anything", True),
        ("/healthz", "/healthz", True),
        ("/healthz", "/healthz/etcd", True),
        ("/healthz", "/healthzz", False),
        ("/openapi/*", "/openapi/v2", True),
        ("/openapi/*", "/openapi", False),
        ("/healthz", "/api/v1/pods", False),
    ],
)
def test_non_resource_rules(info, url, path, matches):
    rule = {"verbs": ["get"], "nonResourceURLs": [url]}
    found = schema(user("*"), resources=(), urls=[rule])
    assert found.matches(ROBOT, info(path)) is matches
    assert not found.matches(ROBOT, info(path, "POST"))


@pytest.mark.parametrize(("method", "flow"), [(None, ""), ("ByUser", ROBOT.name), ("ByNamespace", "a")])
def test_flows_are_told_apart_as_the_schema_says(info, method, flow):
    assert schema(method=method).distinguisher(ROBOT, info()) == flow
