"""RBAC: rules, bindings, reasons, and decisions that end with what they were made of."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from kapi.api.authorizer import Decision
from kapi.api.request_info import RequestInfo, parse_query, parse_request_info
from kapi.api.user import User
from kapi.authz.rbac import RBAC

ALICE = User(name="alice", groups=("dev", "system:authenticated"))
PODS = {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]}


def request(target, method="GET"):
    path, _, query = target.partition("?")
    return parse_request_info(method, path, parse_query(query))


async def bound(world):
    rbac = RBAC()
    rbac.bind(world.caches())
    return rbac


async def allowed(rbac, target, user=ALICE, method="GET"):
    return (await rbac.authorize(user, request(target, method))).decision is Decision.ALLOW


def test_the_very_next_request_after_a_binding_is_gone_is_denied(in_world):
    async def test(world):
        rbac = await bound(world)
        assert not await allowed(rbac, "/api/v1/namespaces/a/pods")
        await world.role("reader", PODS)
        await world.bind("b", "reader", "User:alice")
        assert await allowed(rbac, "/api/v1/namespaces/a/pods")
        await world.unbind("b")
        assert not await allowed(rbac, "/api/v1/namespaces/a/pods")

    in_world(test)


def test_a_role_that_changes_changes_what_its_holders_may_at_once(in_world):
    async def test(world):
        rbac = await bound(world)
        await world.role("reader", PODS, namespace="a")
        await world.bind("b", "reader", "Group:dev", namespace="a")
        assert await allowed(rbac, "/api/v1/namespaces/a/pods/x")
        await world.role("reader", {**PODS, "verbs": ["list"]}, namespace="a")
        assert not await allowed(rbac, "/api/v1/namespaces/a/pods/x")
        assert await allowed(rbac, "/api/v1/namespaces/a/pods")

    in_world(test)


def test_a_binding_that_loses_a_subject_grants_it_nothing_more(in_world):
    async def test(world):
        rbac = await bound(world)
        await world.role("reader", PODS)
        await world.bind("b", "reader", "User:alice", "User:bob")
        bob = User(name="bob")
        assert await allowed(rbac, "/api/v1/pods", bob)
        await world.bind("b", "reader", "User:alice")
        assert not await allowed(rbac, "/api/v1/pods", bob)
        assert await allowed(rbac, "/api/v1/pods")

    in_world(test)


def test_a_cluster_role_in_a_role_binding_holds_in_its_namespace_only(in_world):
    async def test(world):
        rbac = await bound(world)
        await world.role("reader", PODS)
        await world.bind("b", "reader", "User:alice", namespace="a", cluster_role=True)
        assert await allowed(rbac, "/api/v1/namespaces/a/pods")
        assert not await allowed(rbac, "/api/v1/namespaces/b/pods")
        assert not await allowed(rbac, "/api/v1/pods")

    in_world(test)


@pytest.mark.parametrize(
    ("subject", "described"),
    [
        ("User:alice", 'User "alice"'),
        ("Group:dev", 'Group "dev"'),
    ],
)
def test_the_reason_names_binding_role_and_subject(in_world, subject, described):
    async def test(world):
        rbac = await bound(world)
        await world.role("reader", PODS, namespace="a")
        await world.bind("b", "reader", "User:nobody", subject, namespace="a")
        verdict = await rbac.authorize(ALICE, request("/api/v1/namespaces/a/pods"))
        assert verdict.reason == f'RBAC: allowed by RoleBinding "b/a" of Role "reader" to {described}'

    in_world(test)


def test_a_service_account_without_a_namespace_is_one_of_the_bindings(in_world):
    async def test(world):
        rbac = await bound(world)
        await world.role("reader", PODS)
        await world.bind("b", "reader", "ServiceAccount:robot", namespace="a", cluster_role=True)
        await world.bind("everywhere", "reader", "ServiceAccount:lost")  # in no namespace at all
        robot = User(name="system:serviceaccount:a:robot")
        verdict = await rbac.authorize(robot, request("/api/v1/namespaces/a/pods"))
        assert verdict.reason.endswith('of ClusterRole "reader" to ServiceAccount "robot/a"')
        assert not await allowed(rbac, "/api/v1/namespaces/a/pods", User(name="system:serviceaccount:b:robot"))
        assert not await allowed(rbac, "/api/v1/namespaces/a/pods", User(name="system:serviceaccount::lost"))

    in_world(test)


def test_a_role_that_is_not_there_is_told_with_the_denial_and_does_not_hide_another(in_world):
    async def test(world):
        rbac = await bound(world)
        await world.bind("b", "nosuch", "User:alice", namespace="a")
        verdict = await rbac.authorize(ALICE, request("/api/v1/namespaces/a/pods"))
        assert verdict.decision is Decision.NO_OPINION
        assert verdict.reason == 'RBAC: role.rbac.authorization.k8s.io "nosuch" not found'
        await world.role("reader", PODS, namespace="a")
        await world.bind("c", "reader", "User:alice", namespace="a")
        assert await allowed(rbac, "/api/v1/namespaces/a/pods")

    in_world(test)


def test_names_are_looked_at_where_a_rule_is_about_names(in_world):
    async def test(world):
        rbac = await bound(world)
        await world.role("one", {**PODS, "resourceNames": ["web"]})
        await world.bind("b", "one", "User:alice")
        assert await allowed(rbac, "/api/v1/namespaces/a/pods/web")
        assert not await allowed(rbac, "/api/v1/namespaces/a/pods/db")
        assert not await allowed(rbac, "/api/v1/namespaces/a/pods")
        assert await allowed(rbac, "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Dweb")
        assert not await allowed(rbac, "/api/v1/namespaces/a/pods?fieldSelector=metadata.name%3Ddb")
        assert not await allowed(rbac, "/api/v1/namespaces/a/pods?fieldSelector=metadata.name!%3Dweb")

    in_world(test)


def test_a_resource_and_a_path_of_the_same_text_are_not_taken_for_each_other(in_world):
    async def test(world):
        rbac = await bound(world)
        await world.role("all", {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]})
        await world.bind("b", "all", "User:alice")
        resource, path = RequestInfo("", "get"), RequestInfo("pods", "get")
        resource.is_resource_request, resource.resource = True, "pods"
        assert (await rbac.authorize(ALICE, resource)).decision is Decision.ALLOW
        assert (await rbac.authorize(ALICE, path)).decision is Decision.NO_OPINION

    in_world(test)


def test_rules_for_tells_all_rules_and_what_is_missing(in_world):
    async def test(world):
        rbac = await bound(world)
        await world.role("reader", PODS)
        await world.bind("b", "reader", "User:alice")
        await world.bind("c", "nosuch", "Group:dev")
        rules, problem = await rbac.rules_for(ALICE, "a")
        assert rules == [PODS]
        assert problem == 'clusterrole.rbac.authorization.k8s.io "nosuch" not found'

    in_world(test)


def test_many_bindings_are_read_without_holding_up_the_loop(in_world):
    async def test(world):
        await world.role("reader", PODS)
        for i in range(1200):
            await world.bind(f"b{i}", "reader", f"User:u{i}")
        rbac = await bound(world)
        turns = 0

        async def count():
            nonlocal turns
            while True:
                turns += 1
                await asyncio.sleep(0)

        counting = asyncio.create_task(count())
        assert await allowed(rbac, "/api/v1/pods", User(name="u1199"))
        counting.cancel()
        assert turns > 2
        assert not await allowed(rbac, "/api/v1/pods", User(name="u1200"))

    in_world(test)


# Against a brute-force evaluator: every rule of every binding, as the documentation of RBAC reads.

NAMES = st.sampled_from(["a", "b"])
VERBS = st.sampled_from(["get", "list", "*"])
GROUPS = st.sampled_from(["", "apps", "*"])
RESOURCES = st.sampled_from(["pods", "pods/log", "*/log", "deployments", "*"])
URLS = st.sampled_from(["/healthz", "/api/*", "*", "/api"])


def some(values):
    return st.lists(values, min_size=1, max_size=2, unique=True)


RULES = st.one_of(
    st.fixed_dictionaries(
        {"verbs": some(VERBS), "apiGroups": some(GROUPS), "resources": some(RESOURCES)},
        optional={"resourceNames": some(NAMES)},
    ),
    st.fixed_dictionaries({"verbs": some(VERBS), "nonResourceURLs": some(URLS)}),
)
SUBJECTS = st.sampled_from(["User:alice", "User:bob", "Group:dev", "Group:ops", "ServiceAccount:a/robot"])
ROLES = st.lists(st.tuples(st.sampled_from(["", "a", "b"]), NAMES, st.lists(RULES, max_size=2)), max_size=4)
BINDINGS = st.lists(st.tuples(st.sampled_from(["", "a", "b"]), NAMES, NAMES, st.booleans(), some(SUBJECTS)), max_size=5)
USERS = st.sampled_from(
    [
        User(name="alice", groups=("dev",)),
        User(name="bob", groups=("ops", "dev")),
        User(name="system:serviceaccount:a:robot"),
        User(name="carol"),
    ]
)
TARGETS = st.sampled_from(
    [
        "/api/v1/namespaces/a/pods",
        "/api/v1/namespaces/a/pods/a",
        "/api/v1/namespaces/b/pods/b/log",
        "/api/v1/pods",
        "/apis/apps/v1/namespaces/a/deployments/b",
        "/healthz",
        "/api",
        "/api/x",
    ]
)


def brute_force(roles, bindings, user, a):
    held = {("Group", group) for group in user.groups} | {("User", user.name)}
    for (namespace, _), (role_namespace, role, subjects) in bindings.items():
        if namespace and not (a.is_resource_request and a.namespace == namespace):
            continue
        users = {
            ("User", "system:serviceaccount:" + s[15:].replace("/", ":"))
            if s.startswith("S")
            else tuple(s.split(":", 1))
            for s in subjects
        }
        if users & held and any(permits(rule, a) for rule in roles.get((role_namespace, role), [])):
            return True
    return False


def permits(rule, a):
    def has(field, value):
        return "*" in rule.get(field, []) or value in rule.get(field, [])

    if not has("verbs", a.verb):
        return False
    if not a.is_resource_request:
        return any(
            u in ("*", a.path) or (u[-1] == "*" and a.path.startswith(u[:-1])) for u in rule.get("nonResourceURLs", [])
        )
    resource = f"{a.resource}/{a.subresource}" if a.subresource else a.resource
    named = has("resources", resource) or (a.subresource and f"*/{a.subresource}" in rule.get("resources", []))
    names = rule.get("resourceNames")
    return bool(has("apiGroups", a.api_group) and named and (not names or a.name in names))


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=st.lists(st.tuples(ROLES, BINDINGS, st.lists(st.tuples(USERS, TARGETS), max_size=6)), max_size=3))
def test_decisions_are_those_of_a_brute_force_evaluator(in_world, steps):
    async def test(world):
        rbac = await bound(world)
        roles, bindings = {}, {}
        for new_roles, new_bindings, questions in steps:
            for namespace, name, rules in new_roles:
                roles[namespace, name] = rules
                await world.role(name, *rules, namespace=namespace)
            for namespace, name, role, of_cluster, subjects in new_bindings:
                cluster_role = of_cluster or not namespace
                bindings[namespace, name] = ("" if cluster_role else namespace, role, subjects)
                await world.bind(name, role, *subjects, namespace=namespace, cluster_role=cluster_role)
            for user, target in questions:
                wanted = brute_force(roles, bindings, user, request(target))
                assert await allowed(rbac, target, user) is wanted, (user, target, roles, bindings)

    in_world(test)
