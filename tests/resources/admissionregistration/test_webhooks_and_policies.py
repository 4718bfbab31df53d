"""Webhooks and policies: where they are, what they are about, and the names that files own."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "admissionregistration.k8s.io/v1"
WEBHOOKS, POLICIES = f"{GROUP}:validatingwebhookconfigurations", f"{GROUP}:validatingadmissionpolicies"
MUTATIONS, BINDINGS = f"{GROUP}:mutatingadmissionpolicies", f"{GROUP}:validatingadmissionpolicybindings"
RULE = {"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"]}


def configuration(**hook: Any) -> dict[str, Any]:
    given = {
        "name": "a.example.com",
        "clientConfig": {"url": "https://example.com/x"},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **hook,
    }
    return {"kind": "ValidatingWebhookConfiguration", "webhooks": [given]}


def test_a_webhook_fails_closed_and_asks_for_everything_unless_it_says_otherwise(cluster: Any) -> None:
    service = {"service": {"name": "s", "namespace": "n"}}
    [hook] = cluster.made(WEBHOOKS, configuration(clientConfig=service, rules=[RULE]))["webhooks"]
    assert (hook["failurePolicy"], hook["matchPolicy"], hook["timeoutSeconds"]) == ("Fail", "Equivalent", 10)
    assert (hook["namespaceSelector"], hook["objectSelector"]) == ({}, {})
    assert (hook["rules"][0]["scope"], hook["clientConfig"]["service"]["port"]) == ("*", 443)


@pytest.mark.parametrize(
    ("hook", "wrong"),
    [
        (
            {"name": "hook"},
            ['name: Invalid value: "hook": should be a domain with at least three segments separated by dots'],
        ),
        ({"clientConfig": {}}, ["clientConfig: Required value: exactly one of url or service is required"]),
        (
            {"clientConfig": {"url": "http://u:p@example.com/?q"}},
            [
                "clientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL scheme; desired format: "
                "https://host[/path]",
                'clientConfig.url: Invalid value: "u:p": user information is not permitted in the URL',
                'clientConfig.url: Invalid value: "q": query parameters are not permitted in the URL',
            ],
        ),
        (
            {"clientConfig": {"url": "https://x:443:1/"}},
            [
                'clientConfig.url: Required value: url must be a valid URL: parse "https://x:443:1/": invalid port '
                '":443:1" after host; desired format: https://host[/path]'
            ],
        ),
        (
            {"clientConfig": {"service": {"name": "s", "namespace": "n", "port": 70000, "path": "/a//b"}}},
            [
                "clientConfig.service.port: Invalid value: 70000: port is not valid: must be between 1 and 65535, "
                "inclusive",
                'clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
            ],
        ),
        (
            {"sideEffects": "Some"},
            ['sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"'],
        ),
        (
            {"rules": [{**RULE, "resources": ["pods/*", "pods/log"]}]},
            ["rules[0].resources[1]: Invalid value: \"pods/log\": if 'pods/*' is present, must not specify pods/log"],
        ),
        ({"matchConditions": [{"name": "n", "expression": " "}]}, ["matchConditions[0].expression: Required value"]),
    ],
)
def test_a_webhook_is_checked(cluster: Any, hook: Any, wrong: list[str]) -> None:
    assert cluster.problems(WEBHOOKS, configuration(**hook)) == [f"webhooks[0].{problem}" for problem in wrong]


def test_names_that_files_own_are_refused(cluster: Any) -> None:
    name = f"{cluster.name}.static.k8s.io"
    [problem] = cluster.problems(WEBHOOKS, {**configuration(), "metadata": {"name": name}})
    assert problem.startswith(f'metadata.name: Invalid value: "{name}": names ending with ".static.k8s.io"')


def test_a_rule_that_will_never_be_asked_is_warned_of(cluster: Any) -> None:
    rule = {**RULE, "apiGroups": ["authentication.k8s.io"], "resources": ["tokenreviews"]}
    assert cluster.call("POST", WEBHOOKS, configuration(rules=[rule])).warnings == [
        "webhooks[0].rules[0]: tokenreviews.authentication.k8s.io is excluded from admission webhooks; this rule will "
        "have no effect"
    ]


def test_a_policy_is_about_something_and_says_something(cluster: Any) -> None:
    nothing = "validations or auditAnnotations must contain at least one item"
    assert cluster.problems(POLICIES, {"kind": "ValidatingAdmissionPolicy", "spec": {}}) == [
        "spec.matchConstraints: Required value",
        f"spec.validations: Required value: {nothing}",
        f"spec.auditAnnotations: Required value: {nothing}",
    ]


def test_a_mutating_policy_cannot_change_what_is_deleted(cluster: Any) -> None:
    patch = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}
    match = {"resourceRules": [{**RULE, "operations": ["DELETE"]}]}
    spec = {"matchConstraints": match, "mutations": [patch], "reinvocationPolicy": "Never"}
    assert cluster.problems(MUTATIONS, {"kind": "MutatingAdmissionPolicy", "spec": spec}) == [
        'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT",'
        ' "CREATE", "UPDATE"'
    ]


def test_a_binding_names_its_policy_its_actions_and_at_most_one_kind_of_parameters(cluster: Any) -> None:
    reference = {"name": "n", "selector": {}, "parameterNotFoundAction": "Deny"}
    body = {"kind": "ValidatingAdmissionPolicyBinding", "spec": {"paramRef": reference}}
    assert cluster.problems(BINDINGS, body) == [
        "spec.paramRef.name: Forbidden: name and selector are mutually exclusive",
        "spec.paramRef.selector: Forbidden: name and selector are mutually exclusive",
        "spec.policyName: Required value",
        "spec.validationActions: Required value",
    ]


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        (
            {"validations": [{"expression": "object.metadata.name + 'x'"}]},
            [
                "spec.validations[0].expression: Invalid value: "
                "\"object.metadata.name + 'x'\": must evaluate to bool but got string"
            ],
        ),
        (
            {"validations": [{"expression": "true", "messageExpression": "1 + 1"}]},
            ['spec.validations[0].messageExpression: Invalid value: "1 + 1": must evaluate to string but got int'],
        ),
        (
            {
                "variables": [{"name": "a", "expression": "1"}, {"name": "b", "expression": "variables.a + bogus"}],
                "validations": [{"expression": "variables.b == 1"}],
            },
            [
                'spec.variables[1].expression: Invalid value: "variables.a + bogus": compilation failed: ERROR: '
                "<input>:1:15: undeclared reference to 'bogus' (in container '')\n | variables.a + bogus\n "
                "| ..............^"
            ],
        ),
        (
            {
                "variables": [{"name": "a", "expression": "variables.b"}, {"name": "b", "expression": "1"}],
                "validations": [{"expression": "[null]"}],
            },
            [
                'spec.variables[0].expression: Invalid value: "variables.b": compilation failed: ERROR: <input>:1:10: '
                "undefined field 'b'\n | variables.b\n | .........^",
                'spec.validations[0].expression: Invalid value: "[null]": must evaluate to bool but got '
                "list(null_type)",
            ],
        ),
        (
            {"matchConditions": [{"name": "a", "expression": "params.x"}], "validations": [{"expression": "true"}]},
            [
                'spec.matchConditions[0].expression: Invalid value: "params.x": compilation failed: ERROR: '
                "<input>:1:1: undeclared reference to 'params' (in container '')\n | params.x\n | ^"
            ],
        ),
        (
            {"validations": [{"expression": "true || int('x') == 1"}]},
            [
                "spec.validations[0].expression: Internal error: program instantiation failed: "
                "type conversion error from 'string' to 'int'"
            ],
        ),
        (
            {"variables": [{"name": "a", "expression": "'b'.find('[')"}], "validations": [{"expression": "true"}]},
            [
                "spec.variables[0].expression: Internal error: program instantiation failed: "
                "error parsing regexp: missing closing ]: `[`"
            ],
        ),
    ],
)
def test_an_expression_compiles_to_the_type_that_is_needed(cluster: Any, spec: Any, wrong: list[str]) -> None:
    given = {"matchConstraints": {"resourceRules": [RULE]}, **spec}
    assert cluster.problems(POLICIES, {"kind": "ValidatingAdmissionPolicy", "spec": given}) == wrong


def test_variables_of_mutations_are_written_without_what_patches_are_written_with(cluster: Any) -> None:
    spec = {
        "matchConstraints": {"resourceRules": [RULE]},
        "reinvocationPolicy": "Never",
        "variables": [{"name": "o", "expression": "Object{}"}],
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression": "[variables.p]"}}],
    }
    assert cluster.problems(MUTATIONS, {"kind": "MutatingAdmissionPolicy", "spec": spec}) == [
        'spec.variables[0].expression: Invalid value: "Object{}": compilation failed: ERROR: <input>:1:7: undeclared '
        "reference to 'Object' (in container '')\n | Object{}\n | ......^",
        'spec.mutations[0].jsonPatch.expression: Invalid value: "[variables.p]": compilation failed: ERROR: '
        "<input>:1:11: undefined field 'p'\n | [variables.p]\n | ..........^",
    ]
