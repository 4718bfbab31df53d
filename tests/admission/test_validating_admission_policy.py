"""Validating policies, as clients meet them: each test has a namespace and a policy bound to it alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.admission.conftest import Place
from tests.server_process import Server

_API = "/apis/admissionregistration.k8s.io/v1"
_POLICIES, _BINDINGS = f"{_API}/validatingadmissionpolicies", f"{_API}/validatingadmissionpolicybindings"
_MERGE = "application/merge-patch+json"
Bind = Callable[..., str]


def config_map(name: str, **data: str) -> Any:
    return {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}


def rule(*resources: str, operations: tuple[str, ...] = ("*",), group: str = "", **more: Any) -> Any:
    return {"apiGroups": [group], "apiVersions": ["*"], "operations": operations, "resources": resources, **more}


@pytest.fixture
def bind(place: Place) -> Iterator[Bind]:
    """Makes a policy of its spec, and a binding that limits it to the test's namespace; returns their name."""
    made: list[str] = []

    def make(spec: Any, binding: Any = None, match: Any = None, *, everywhere: bool = False) -> str:
        name = f"{place.name}-{len(made)}"
        rules = spec.pop("rules", [rule("configmaps")])
        spec.setdefault("matchConstraints", {"resourceRules": rules, **(spec.pop("constraints", None) or {})})
        head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": name}}
        place.client.create(_POLICIES, {**head, "kind": "ValidatingAdmissionPolicy", "spec": spec})
        selector = {} if everywhere else {"matchLabels": {"kubernetes.io/metadata.name": place.name}}
        bound = {
            "policyName": name,
            "validationActions": ["Deny"],
            "matchResources": {"namespaceSelector": selector, **(match or {})},
            **(binding or {}),
        }
        place.client.create(_BINDINGS, {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound})
        made.append(name)
        return name

    yield make
    for name in made:
        assert place.client.call("DELETE", f"{_BINDINGS}/{name}")[0] == 200
        assert place.client.call("DELETE", f"{_POLICIES}/{name}")[0] == 200


def denied(place: Place, body: Any, plural: str = "configmaps", group: str = "api/v1") -> str:
    """What the policy said, without the words around it."""
    status, answer = place.client.call("POST", place.path(plural, group), body)
    assert status == 422, answer
    assert answer["details"]["causes"] == [{"message": answer["message"].partition(" is forbidden: ")[2]}]
    return str(answer["message"]).partition(" denied request: ")[2]


def test_a_policy_takes_effect_with_the_very_next_request_and_ends_with_its_binding(place: Place, bind: Bind) -> None:
    name = bind({"validations": [{"expression": "object.metadata.name.startsWith('ok')"}]})
    place.made("configmaps", config_map("ok"))
    status, answer = place.client.call("POST", place.path("configmaps"), config_map("bad"))
    assert (status, answer["reason"]) == (422, "Invalid")
    assert answer["message"] == (
        f"configmaps \"bad\" is forbidden: ValidatingAdmissionPolicy '{name}' with binding '{name}' denied request: "
        "failed expression: object.metadata.name.startsWith('ok')"
    )
    change = {"spec": {"validations": [{"expression": "true"}]}}
    assert place.client.call("PATCH", f"{_POLICIES}/{name}", change, content_type=_MERGE)[0] == 200
    place.made("configmaps", config_map("bad"))


def test_the_first_validation_to_fail_is_told_with_its_reason(place: Place, bind: Bind) -> None:
    bind(
        {
            "validations": [
                {"expression": "object.data.a != '1'", "message": "one", "reason": "Forbidden"},
                {"expression": "object.data.a != '2'", "messageExpression": "'a is ' + object.data.a"},
                {
                    "expression": "object.data.a != '3'",
                    "messageExpression": "string(object.data.no)",
                    "message": "three",
                },
            ]
        }
    )
    assert place.refusal("configmaps", config_map("x", a="1")).endswith("denied request: one")
    assert denied(place, config_map("x", a="2")) == "a is 2"
    assert denied(place, config_map("x", a="3")) == "three"


def test_an_expression_that_fails_denies_unless_failures_are_ignored(place: Place, bind: Bind) -> None:
    broken = {"validations": [{"expression": "object.data.nosuch == 'x'"}]}
    name = bind(dict(broken))
    why = "expression 'object.data.nosuch == 'x'' resulted in error: no such key: nosuch"
    assert denied(place, config_map("x", a="1")) == why
    change = {"spec": {"failurePolicy": "Ignore"}}
    assert place.client.call("PATCH", f"{_POLICIES}/{name}", change, content_type=_MERGE)[0] == 200
    place.made("configmaps", config_map("x", a="1"))


def test_a_warning_lets_the_write_pass(place: Place, bind: Bind) -> None:
    name = bind({"validations": [{"expression": "false", "message": "no"}]}, {"validationActions": ["Warn", "Audit"]})
    response = place.client.send("POST", place.path("configmaps"), config_map("x"))
    response.read()
    assert response.status == 201
    warning = f"Validation failed for ValidatingAdmissionPolicy '{name}' with binding '{name}': no"
    assert response.headers["Warning"] == f'299 - "{warning}"'


def test_variables_see_each_other_and_are_evaluated_only_when_needed(place: Place, bind: Bind) -> None:
    variables = [
        {"name": "broken", "expression": "object.data.nosuch"},
        {"name": "size", "expression": "object.data.size()"},
        {"name": "large", "expression": "variables.size > 1"},
    ]
    bind(
        {
            "variables": variables,
            "validations": [
                {"expression": "!variables.large", "messageExpression": "string(variables.size)"},
                {"expression": "!('b' in object.data) || variables.broken == ''"},
            ],
        }
    )
    place.made("configmaps", config_map("small", a="1"))
    assert denied(place, config_map("x", a="1", c="2")) == "2"
    why = 'composited variable "broken" fails to evaluate: no such key: nosuch'
    assert denied(place, config_map("x", b="1")).endswith(why)


def test_conditions_leave_requests_alone(place: Place, bind: Bind) -> None:
    conditions = [
        {"name": "may-fail", "expression": "object.data.a == '1'"},
        {"name": "not-admin", "expression": "object.metadata.name != 'skip'"},
    ]
    bind({"matchConditions": conditions, "validations": [{"expression": "false"}]})
    place.made("configmaps", config_map("other", a="2"))
    place.made("configmaps", config_map("skip"))  # one condition fails, but another says no
    assert denied(place, config_map("x", b="1")) == (
        "expression 'object.data.a == '1'' resulted in error: no such key: a"
    )
    assert denied(place, config_map("x", a="1")) == "failed expression: false"


def test_rules_tell_operations_names_and_subresources_apart(place: Place, bind: Bind) -> None:
    place.made("configmaps", config_map("kept"))
    place.made("configmaps", config_map("other"))
    rules = [rule("configmaps", operations=("DELETE",), resourceNames=["kept"])]
    bind({"rules": rules, "validations": [{"expression": "oldObject.metadata.name == ''"}]})
    status, answer = place.client.call("DELETE", place.path("configmaps/kept"))
    assert (status, answer["details"]["name"]) == (422, "kept")
    assert place.client.call("DELETE", place.path("configmaps/other"))[0] == 200


def test_what_is_excluded_is_not_judged(place: Place, bind: Bind) -> None:
    exclude = [rule("configmaps", operations=("CREATE",), resourceNames=["spared"])]
    bind({"validations": [{"expression": "false"}], "constraints": {"excludeResourceRules": exclude}})
    place.made("configmaps", config_map("spared"))
    assert denied(place, config_map("x")) == "failed expression: false"


def test_an_object_selector_looks_at_the_old_and_the_new_object(place: Place, bind: Bind) -> None:
    selector = {"objectSelector": {"matchLabels": {"locked": "yes"}}}
    body = config_map("x")
    body["metadata"]["labels"] = {"locked": "yes"}
    place.made("configmaps", body)
    bind({"validations": [{"expression": "request.operation != 'UPDATE'"}]}, match=selector)
    place.made("configmaps", config_map("free"))
    assert place.client.call("PUT", place.path("configmaps/x"), config_map("x", a="1"))[0] == 422


def test_an_equivalent_version_is_judged_in_the_version_that_the_rule_names(place: Place, bind: Bind) -> None:
    rules = [{**rule("horizontalpodautoscalers", group="autoscaling"), "apiVersions": ["v1"]}]
    told = "request.kind.version + ' of ' + request.requestKind.version + ' '"
    cpu = "string(object.spec.targetCPUUtilizationPercentage)"
    bind({"rules": rules, "validations": [{"expression": "false", "messageExpression": f"{told} + {cpu}"}]})
    target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}
    spec: Any = {"scaleTargetRef": target, "maxReplicas": 3}
    metric = {"type": "Utilization", "averageUtilization": 42}
    metrics = [{"type": "Resource", "resource": {"name": "cpu", "target": metric}}]
    body: Any = {"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler", "metadata": {"name": "h"}}
    plural = "horizontalpodautoscalers"
    body["spec"] = {**spec, "metrics": metrics}
    assert denied(place, body, plural, "apis/autoscaling/v2") == "v1 of v2 42"
    body |= {"apiVersion": "autoscaling/v1", "spec": {**spec, "targetCPUUtilizationPercentage": 7}}
    assert denied(place, body, plural, "apis/autoscaling/v1") == "v1 of v1 7"


def test_an_exact_policy_does_not_see_other_versions(place: Place, bind: Bind) -> None:
    rules = [{**rule("events", group="events.k8s.io"), "apiVersions": ["v1"]}]
    bind({"rules": rules, "validations": [{"expression": "false"}], "constraints": {"matchPolicy": "Exact"}})
    about = {"kind": "Pod", "name": "p", "namespace": place.name, "apiVersion": "v1"}
    event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "e"}, "involvedObject": about}
    place.made("events", event)


def test_a_scale_is_judged_as_a_scale(place: Place, bind: Bind) -> None:
    labels = {"app": "d"}
    spec = {
        "replicas": 1,
        "selector": {"matchLabels": labels},
        "template": {"metadata": {"labels": labels}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    }
    body = {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}, "spec": spec}
    place.made("deployments", body, "apis/apps/v1")
    told = "object.kind + ' ' + string(oldObject.spec.replicas) + ' to ' + string(object.spec.replicas)"
    rules = [rule("deployments/scale", group="apps")]
    bind({"rules": rules, "validations": [{"expression": "object.spec.replicas < 3", "messageExpression": told}]})
    path = place.path("deployments/d/scale", "apis/apps/v1")
    status, answer = place.client.call("PATCH", path, {"spec": {"replicas": 5}}, content_type=_MERGE)
    assert (status, answer["message"].partition(" denied request: ")[2]) == (422, "Scale 1 to 5")
    assert place.client.call("PATCH", path, {"spec": {"replicas": 2}}, content_type=_MERGE)[0] == 200


def test_an_eviction_is_judged_once_and_as_an_eviction(place: Place, bind: Bind) -> None:
    bind(
        {
            "rules": [rule("pods/*", "pods", operations=("DELETE", "CREATE"))],
            "matchConditions": [{"name": "later", "expression": "object == null || object.kind != 'Pod'"}],
            "validations": [
                {"expression": "object != null && object.kind == 'Eviction' && object.metadata.name == 'a'"}
            ],
        }
    )
    for name in ("a", "b"):
        spec = {"containers": [{"name": "c", "image": "i"}]}
        place.made("pods", {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec})
    eviction: Any = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "a"}}
    status, answer = place.client.call("POST", place.path("pods/a/eviction"), eviction)
    assert status == 201, str(answer)
    eviction["metadata"]["name"] = "b"
    assert place.client.call("POST", place.path("pods/b/eviction"), eviction)[0] == 422
    assert place.client.call("DELETE", place.path("pods/b"))[0] == 422


def test_audit_annotations_that_fail_deny_and_those_that_say_nothing_do_not(place: Place, bind: Bind) -> None:
    bind(
        {
            "auditAnnotations": [
                {"key": "nothing", "valueExpression": "null"},
                {"key": "name", "valueExpression": "string(object.data.a)"},
            ]
        }
    )
    place.made("configmaps", config_map("x", a="n"))
    assert denied(place, config_map("y", other="n")).endswith("resulted in error: no such key: a")


def test_params_are_objects_by_name_or_by_labels(place: Place, bind: Bind) -> None:
    limit = config_map("limit", most="3")
    limit["metadata"]["labels"] = {"kind": "limit"}
    place.made("configmaps", limit)
    spec: Any = {
        "rules": [rule("secrets")],
        "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"},
        "validations": [{"expression": "params == null || object.metadata.name.size() <= int(params.data.most)"}],
    }
    secret = {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "long"}}
    name = bind(spec, {"paramRef": {"name": "limit", "parameterNotFoundAction": "Deny"}})
    assert denied(place, secret, "secrets").startswith("failed expression: params == null")

    def refer(reference: Any) -> None:
        change = {"spec": {"paramRef": reference}}
        assert place.client.call("PATCH", f"{_BINDINGS}/{name}", change, content_type=_MERGE)[0] == 200

    refer({"name": None, "selector": {"matchLabels": {"kind": "limit"}}})
    assert denied(place, secret, "secrets").startswith("failed expression: params == null")
    refer({"selector": {"matchLabels": {"kind": "other"}}})
    why = "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction"
    assert denied(place, secret, "secrets") == why
    refer({"parameterNotFoundAction": "Allow"})
    place.made("secrets", secret)


def test_custom_resources_are_judged_and_can_be_params(place: Place, bind: Bind) -> None:
    group = f"{place.name}.example.com"
    properties = {"most": {"type": "integer"}, "size": {"type": "integer"}}
    version = {
        "name": "v1",
        "served": True,
        "storage": True,
        "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
    }
    definition = {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"limits.{group}"},
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": "limits", "kind": "Limit"},
            "versions": [version, {**version, "name": "v2", "storage": False}],
        },
    }
    kind = {"apiVersion": f"{group}/v1", "kind": "Limit"}
    spec: Any = {
        "rules": [{**rule("limits", group=group), "apiVersions": ["v2"]}],
        "paramKind": kind,
        "validations": [{"expression": "object.size <= params.most", "messageExpression": "string(object.apiVersion)"}],
    }
    bind(spec, {"paramRef": {"name": "limit", "parameterNotFoundAction": "Allow"}})
    place.client.create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition)
    place.made("limits", {**kind, "metadata": {"name": "limit"}, "most": 3, "size": 9}, f"apis/{group}/v1")
    large = {**kind, "metadata": {"name": "large"}, "size": 4}
    assert denied(place, large, "limits", f"apis/{group}/v1") == f"{group}/v2"
    place.made("limits", {**large, "size": 3}, f"apis/{group}/v1")


def test_a_param_kind_that_nobody_serves_is_a_configuration_error(place: Place, bind: Bind) -> None:
    bind(
        {"paramKind": {"apiVersion": "nosuch.example.com/v1", "kind": "Limit"}, "validations": [{"expression": "true"}]}
    )
    status, answer = place.client.call("POST", place.path("configmaps"), config_map("x"))
    assert status == 422
    why = "failed to find resource referenced by paramKind: 'nosuch.example.com/v1, Kind=Limit'"
    assert answer["message"].endswith(f"denied request: failed to configure policy: {why}")
    assert "with binding" not in answer["message"]


def test_expressions_may_ask_the_authorizer(new_server: Callable[..., Server]) -> None:
    account = "authorizer.serviceAccount('default', 'default').group('').resource('configmaps').check('get')"
    spec = {
        "matchConstraints": {"resourceRules": [rule("configmaps", operations=("CREATE",))]},
        "matchConditions": [{"name": "asks", "expression": f"!{account}.allowed()"}],
        "variables": [{"name": "may", "expression": "authorizer.requestResource.check('custom').allowed()"}],
        "validations": [
            {"expression": "authorizer.path('/healthz').check('get').allowed()", "message": "unhealthy"},
            {"expression": "variables.may", "message": "may not"},
        ],
    }
    group = "rbac.authorization.k8s.io"
    role = {
        "apiVersion": f"{group}/v1",
        "kind": "Role",
        "metadata": {"name": "writer"},
        "rules": [{"apiGroups": [""], "resources": ["configmaps"], "verbs": ["create"]}],
    }
    binding = {
        "apiVersion": f"{group}/v1",
        "kind": "RoleBinding",
        "metadata": {"name": "writer"},
        "roleRef": {"kind": "Role", "name": "writer", "apiGroup": group},
        "subjects": [{"kind": "User", "name": "jane", "apiGroup": group}],
    }
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    server, path = new_server("--authorization-mode=RBAC").start(), "/api/v1/namespaces/default/configmaps"
    with server.client("admin", "system:masters") as admin, server.client("jane") as jane:
        admin.create(f"/apis/{group}/v1/namespaces/default/roles", role)
        admin.create(f"/apis/{group}/v1/namespaces/default/rolebindings", binding)
        admin.create(_POLICIES, {**head, "kind": "ValidatingAdmissionPolicy", "spec": spec})
        admin.create(_BINDINGS, {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound})
        admin.create(path, config_map("by-admin"))
        status, answer = jane.call("POST", path, config_map("by-jane"))
    assert (status, answer["message"].partition(" denied request: ")[2]) == (422, "may not")


def test_expressions_see_the_namespace_and_the_request(place: Place, bind: Bind) -> None:
    told = (
        "namespaceObject.metadata.name + ' ' + request.namespace + ' ' + request.userInfo.username + ' '"
        " + request.resource.resource + ' ' + string(request.dryRun) + ' ' + request.options.kind"
    )
    bind({"validations": [{"expression": "false", "messageExpression": told}]})
    path = f"{place.path('configmaps')}?dryRun=All"
    status, answer = place.client.call("POST", path, config_map("x"))
    expected = f"{place.name} {place.name} admin configmaps true CreateOptions"
    assert (status, answer["message"].partition(" denied request: ")[2]) == (422, expected)


def test_what_costs_too_much_is_refused(place: Place, bind: Bind) -> None:
    squared = "object.data.all(a, object.data.all(b, object.data.all(c, object.data.all(d, a + b + c + d != ''))))"
    bind({"validations": [{"expression": squared}]})
    many = config_map("x", **{f"k{i}": "v" for i in range(40)})
    assert denied(place, many).endswith("resulted in error: operation cancelled: actual cost limit exceeded")


def test_policies_do_not_judge_what_configures_them(place: Place, bind: Bind) -> None:
    rules = [{**rule("*"), "apiGroups": ["admissionregistration.k8s.io"]}]
    name = bind({"rules": rules, "validations": [{"expression": "false"}]}, everywhere=True)
    change = {"metadata": {"labels": {"changed": "yes"}}}
    assert place.client.call("PATCH", f"{_POLICIES}/{name}", change, content_type=_MERGE)[0] == 200
    webhooks = f"{_API}/validatingwebhookconfigurations?dryRun=All"
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
    status, answer = place.client.call("POST", webhooks, {**body, "metadata": {"name": "w"}})
    assert status == 422, answer


def test_checks_are_counted(place: Place, bind: Bind) -> None:
    name = bind({"validations": [{"expression": "false"}]})
    denied(place, config_map("x"))
    _, metrics = place.client.text("/metrics")
    labels = f'policy="{name}",policy_binding="{name}",error_type="invalid_error",enforcement_action="deny"'
    assert f"apiserver_validating_admission_policy_check_total{{{labels}}} 1" in metrics
    assert f"apiserver_validating_admission_policy_check_duration_seconds_count{{{labels}}} 1" in metrics


def test_policies_are_in_force_after_a_restart(new_server: Callable[..., Server]) -> None:
    server = new_server()
    head = {"apiVersion": "admissionregistration.k8s.io/v1", "metadata": {"name": "p"}}
    spec = {"matchConstraints": {"resourceRules": [rule("configmaps")]}, "validations": [{"expression": "false"}]}
    bound = {"policyName": "p", "validationActions": ["Deny"]}
    server.start()
    with server.client() as client:
        client.create(_POLICIES, {**head, "kind": "ValidatingAdmissionPolicy", "spec": spec})
        client.create(_BINDINGS, {**head, "kind": "ValidatingAdmissionPolicyBinding", "spec": bound})
    assert server.stop() == 0
    server.start()
    with server.client() as client:
        assert client.call("POST", "/api/v1/namespaces/default/configmaps", config_map("x"))[0] == 422
