"""NetworkPolicies: peers of one kind, ports in order, networks that hold what they leave out."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "apis/networking.k8s.io/v1"


def policy(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": name}, "spec": spec}


def peer(**fields: Any) -> dict[str, Any]:
    return {"ingress": [{"from": [fields]}]}


def block(cidr: str, *without: str) -> dict[str, Any]:
    return peer(ipBlock={"cidr": cidr, "except": list(without)})


def port(**fields: Any) -> dict[str, Any]:
    return {"egress": [{"ports": [fields]}]}


FROM, PORT = "spec.ingress[0].from[0]", "spec.egress[0].ports[0]"


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        (peer(), f"{FROM}: Required value: must specify a peer"),
        (
            peer(podSelector={}, ipBlock={"cidr": "10.0.0.0/8"}),
            f"{FROM}: Forbidden: may not specify both ipBlock and another peer",
        ),
        (block(""), f"{FROM}.ipBlock.cidr: Required value"),
        (
            block("10.0.0.1/8"),
            f'{FROM}.ipBlock.cidr: Invalid value: "10.0.0.1/8": must not have bits set beyond the prefix length',
        ),
        (
            block("10.0.0.0/8", "11.0.0.0/16"),
            f'{FROM}.ipBlock.except[0]: Invalid value: "11.0.0.0/16": must be a strict subset of `cidr`',
        ),
        (
            block("10.0.0.0/8", "10.0.0.0/8"),
            f'{FROM}.ipBlock.except[0]: Invalid value: "10.0.0.0/8": must be a strict subset of `cidr`',
        ),
        (port(port=80, endPort=79), f"{PORT}.endPort: Invalid value: 79: must be greater than or equal to `port`"),
        (port(endPort=79), f"{PORT}.endPort: Invalid value: 79: may not be specified when `port` is not specified"),
        (
            port(port="web", endPort=79),
            f"{PORT}.endPort: Invalid value: 79: may not be specified when `port` is non-numeric",
        ),
        (
            port(protocol="ICMP"),
            f'{PORT}.protocol: Unsupported value: "ICMP": supported values: "TCP", "UDP", "SCTP"',
        ),
        (
            {"policyTypes": ["Odd"]},
            'spec.policyTypes[0]: Unsupported value: "Odd": supported values: "Ingress", "Egress"',
        ),
        (
            {"podSelector": {"matchExpressions": [{"key": "a", "operator": "In"}]}},
            "spec.podSelector.matchExpressions[0].values: Required value: must be specified when `operator` is 'In' or "
            "'NotIn'",
        ),
    ],
)
def test_rules_that_mean_nothing_are_refused(namespace: Any, spec: Any, wrong: str) -> None:
    found = namespace.messages("POST", namespace.path("networkpolicies", group=GROUP), policy("bad", **spec))
    assert wrong in found


def test_a_missing_range_is_reported_last(namespace: Any) -> None:
    spec = {"ingress": [{"from": [{"ipBlock": {"cidr": ""}}]}], "policyTypes": ["Odd"]}
    found = namespace.messages("POST", namespace.path("networkpolicies", group=GROUP), policy("bad", **spec))
    assert [text.partition(":")[0] for text in found] == ["spec.policyTypes[0]", f"{FROM}.ipBlock.cidr"]


def test_the_directions_follow_from_the_rules(namespace: Any) -> None:
    path = namespace.path("networkpolicies", group=GROUP)
    inward = namespace.client.create(path, policy("in"))
    assert inward["spec"] == {"podSelector": {}, "policyTypes": ["Ingress"]}
    both = namespace.client.create(path, policy("both", egress=[{"ports": [{"port": 53}]}]))
    assert both["spec"]["policyTypes"] == ["Ingress", "Egress"]
    assert both["spec"]["egress"][0]["ports"] == [{"port": 53, "protocol": "TCP"}]
    assert both["metadata"]["generation"] == 1


def test_the_selected_pods_are_shown(namespace: Any) -> None:
    path = namespace.path("networkpolicies", group=GROUP)
    selector = {"matchLabels": {"b": "1"}, "matchExpressions": [{"key": "a", "operator": "In", "values": ["y", "x"]}]}
    namespace.client.create(path, policy("some", podSelector=selector))
    namespace.client.create(path, policy("zall"))
    _, table = namespace.client.call("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [row["cells"][1] for row in table["rows"]] == ["a in (x,y),b=1", "<none>"]
