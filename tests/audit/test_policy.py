"""The policy: which rule decides about which request, and what is refused when the file is read."""

from __future__ import annotations

from typing import Any

import pytest
import yaml

from kapi.api.request_info import parse_query, parse_request_info
from kapi.api.user import User
from kapi.audit.policy import Policy
from kapi.audit.policy_file import PolicyError, load_policy, read_policy
from kapi.telemetry.log import Log

ALICE = User(name="alice", groups=("dev", "system:authenticated"))
HEAD = {"apiVersion": "audit.k8s.io/v1", "kind": "Policy"}
PODS = "/api/v1/namespaces/a/pods"


def read(*rules: Any, **more: Any) -> Policy:
    return read_policy(yaml.safe_dump({**HEAD, "rules": list(rules), **more}).encode(), Log())


def level(policy: Policy, target: str, method: str = "GET", user: User | None = ALICE) -> str:
    path, _, query = target.partition("?")
    return policy.decide(user, parse_request_info(method, path, parse_query(query))).label


@pytest.mark.parametrize(
    ("rule", "fits", "does_not"),
    [
        ({"users": ["alice"]}, [PODS, "/healthz"], []),
        ({"users": ["bob"]}, [], [PODS]),
        ({"userGroups": ["x", "dev"]}, [PODS], []),
        ({"userGroups": ["ops"]}, [], [PODS]),
        ({"verbs": ["list"]}, [PODS], [f"{PODS}/p", "/api"]),
        ({"verbs": ["get"]}, [f"{PODS}/p", "/api"], [PODS]),
        ({"verbs": ["watch"]}, [f"{PODS}?watch=1"], [PODS]),
        ({"namespaces": ["a"]}, [PODS, f"{PODS}/p/log"], ["/api/v1/namespaces/b/pods", "/api/v1/nodes", "/healthz"]),
        ({"namespaces": [""]}, ["/api/v1/nodes", "/api/v1/pods"], [PODS]),
        ({"resources": [{"group": ""}]}, [PODS, "/api/v1/nodes/n/status"], ["/apis/apps/v1/deployments", "/api"]),
        ({"resources": [{"group": "", "resources": ["pods"]}]}, [PODS, f"{PODS}/p"], [f"{PODS}/p/log"]),
        ({"resources": [{"group": "", "resources": ["pods/log"]}]}, [f"{PODS}/p/log"], [PODS, f"{PODS}/p/status"]),
        ({"resources": [{"group": "", "resources": ["pods/*"]}]}, [f"{PODS}/p/log", PODS], ["/api/v1/nodes"]),
        (
            {"resources": [{"group": "*", "resources": ["*/scale"]}]},
            ["/apis/apps/v1/namespaces/a/deployments/d/scale"],
            ["/apis/apps/v1/namespaces/a/deployments/d"],
        ),
        ({"resources": [{"group": "*", "resources": ["*"]}]}, [PODS, f"{PODS}/p/log", "/apis/apps/v1/x"], ["/apis"]),
        (
            {"resources": [{"group": "", "resources": ["pods"], "resourceNames": ["p"]}]},
            [f"{PODS}/p", f"{PODS}?fieldSelector=metadata.name%3Dp"],
            [f"{PODS}/q", PODS],
        ),
        ({"nonResourceURLs": ["/healthz*", "/version"]}, ["/healthz/etcd", "/version"], ["/versions", PODS]),
        ({"nonResourceURLs": ["*"]}, ["/", "/apis"], [PODS]),
    ],
    ids=str,
)
def test_a_rule_fits_what_it_names(rule: Any, fits: list[str], does_not: list[str]) -> None:
    policy = read({"level": "Metadata", **rule})
    for _ in ("decided", "remembered"):
        assert {target: level(policy, target) for target in fits} == dict.fromkeys(fits, "Metadata")
        assert {target: level(policy, target) for target in does_not} == dict.fromkeys(does_not, "None")


def test_the_first_rule_that_fits_decides() -> None:
    policy = read({"level": "None", "users": ["alice"]}, {"level": "Request"})
    assert level(policy, PODS) == "None"
    assert level(policy, PODS, user=User(name="bob")) == "Request"


def test_whoever_is_not_known_fits_no_rule_about_users() -> None:
    policy = read({"level": "Request", "users": ["alice"]}, {"level": "Request", "userGroups": ["dev"]})
    assert level(policy, PODS) == "Request"
    assert level(policy, PODS, user=None) == "None"


def test_stages_are_omitted_for_all_and_for_one_rule() -> None:
    policy = read({"level": "Metadata", "omitStages": ["Panic"]}, omitStages=["RequestReceived"])
    decision = policy.decide(ALICE, parse_request_info("GET", PODS, {}))
    assert decision.omit_stages == {"RequestReceived", "Panic"}


@pytest.mark.parametrize(("own", "omitted"), [({}, True), ({"omitManagedFields": False}, False)])
def test_a_rules_own_word_on_managed_fields_wins(own: Any, omitted: bool) -> None:
    policy = read({"level": "Request", **own}, omitManagedFields=True)
    assert policy.decide(ALICE, parse_request_info("GET", PODS, {})).omit_managed_fields is omitted


def test_what_clients_make_up_does_not_grow_the_memory() -> None:
    policy = read({"level": "Metadata", "verbs": ["get"]})
    for i in range(5000):
        level(policy, f"/path/{i}")
    assert len(policy._remembered) <= 4096


STAGES = "allowed stages are RequestReceived,ResponseStarted,ResponseComplete,Panic"


@pytest.mark.parametrize(
    ("document", "problem"),
    [
        ({"kind": "Policy"}, "failed decoding: Object 'apiVersion' is missing in 'kind: Policy\n'"),
        ({"rules": 1}, "failed decoding: Object 'Kind' is missing in 'rules: 1\n'"),
        (
            {"apiVersion": "audit.k8s.io/v1beta1", "kind": "Policy"},
            'failed decoding: no kind "Policy" is registered for version "audit.k8s.io/v1beta1" in scheme '
            '"k8s.io/apiserver/pkg/audit/scheme.go:30"',
        ),
        (HEAD, "loaded illegal policy with 0 rules"),
        ({**HEAD, "rules": "x"}, "json: cannot unmarshal string into Go struct field Policy.rules of type"),
        ({**HEAD, "rules": [{}]}, "rules[0].level: Required value"),
        ({**HEAD, "rules": [{"level": "All"}]}, 'rules[0].level: Unsupported value: "All": supported values: '),
        (
            {**HEAD, "rules": [{"level": "None"}], "omitStages": ["x"]},
            f'omitStages[0]: Invalid value: "x": {STAGES}',
        ),
        (
            {**HEAD, "rules": [{"level": "None", "nonResourceURLs": ["a", "/b*c"]}]},
            "[rules[0].nonResourceURLs[0]: Invalid value: \"a\": non-resource URL rules must begin with a '/' "
            "character, rules[0].nonResourceURLs[1]: Invalid value: \"/b*c\": non-resource URL wildcards '*' must be "
            "the final character of the rule]",
        ),
        (
            {**HEAD, "rules": [{"level": "None", "nonResourceURLs": ["/a"], "namespaces": ["b"]}]},
            'rules[0].nonResourceURLs: Invalid value: ["/a"]: rules cannot apply to both regular resources and '
            "non-resource URLs",
        ),
        (
            {**HEAD, "rules": [{"level": "None", "resources": [{"resourceNames": ["name"]}]}]},
            'rules[0].resources.resourceNames: Invalid value: ["name"]: '
            "using resourceNames requires at least one resource",
        ),
        (
            {**HEAD, "rules": [{"level": "None", "resources": [{"group": "apps/v1"}]}]},
            'rules[0].resources.group: Invalid value: "apps/v1": a lowercase RFC 1123 subdomain',
        ),
    ],
)
def test_a_bad_policy_is_refused(document: Any, problem: str) -> None:
    with pytest.raises(PolicyError) as caught:
        read_policy(yaml.safe_dump(document).encode(), Log())
    assert problem in str(caught.value)


def test_unknown_fields_are_no_reason_not_to_audit() -> None:
    assert level(read({"level": "Metadata", "nosuch": 1}), PODS) == "Metadata"


def test_a_missing_file_is_named() -> None:
    with pytest.raises(PolicyError) as caught:
        load_policy("/no/such/policy", Log())
    assert str(caught.value) == (
        'loading audit policy file: failed to read file path "/no/such/policy": '
        "open /no/such/policy: no such file or directory"
    )
