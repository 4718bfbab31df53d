"""EndpointSlices: addresses of one kind, in bounded numbers, with a generation."""

from __future__ import annotations

from typing import Any

import pytest

GROUP = "apis/discovery.k8s.io/v1"


def endpoint_slice(name: str, kind: str = "IPv4", **fields: Any) -> dict[str, Any]:
    return {
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {"name": name},
        "addressType": kind,
        **fields,
    }


@pytest.mark.parametrize(
    ("kind", "endpoint", "wrong"),
    [
        (
            "IPv4",
            {"addresses": ["fd00::1"]},
            'endpoints[0].addresses: Invalid value: "fd00::1": must be an IPv4 address',
        ),
        ("IPv6", {"addresses": ["FD00::1"]}, "must be in canonical form"),
        ("FQDN", {"addresses": ["short"]}, "should be a domain with at least two segments separated by dots"),
        ("IPv4", {"addresses": []}, "endpoints[0].addresses: Required value"),
        (
            "IPv4",
            {"addresses": ["10.0.0.1"] * 101},
            "endpoints[0].addresses: Too many: 101: must have at most 100 items",
        ),
        (
            "IPv4",
            {"addresses": ["10.1.0.1"], "hints": {"forZones": [{"name": "a"}, {"name": "a"}]}},
            'endpoints[0].hints.forZones[1].name: Duplicate value: "a"',
        ),
        (
            "Odd",
            {"addresses": ["x"]},
            'addressType: Unsupported value: "Odd": supported values: "FQDN", "IPv4", "IPv6"',
        ),
    ],
)
def test_endpoints_that_cannot_be_are_refused(namespace: Any, kind: str, endpoint: Any, wrong: str) -> None:
    path = namespace.path("endpointslices", group=GROUP)
    found = namespace.messages("POST", path, endpoint_slice("bad", kind, endpoints=[endpoint]))
    assert any(wrong in text for text in found), found


def test_what_declared_rules_find_comes_last(namespace: Any) -> None:
    path = namespace.path("endpointslices", group=GROUP)
    bad = endpoint_slice("bad", "Odd", endpoints=[{"addresses": [], "hostname": "A"}], ports=[{"protocol": "X"}])
    found = [text.split(":")[0] for text in namespace.messages("POST", path, bad)]
    assert found == ["ports[0].protocol", "endpoints[0].hostname", "addressType", "endpoints[0].addresses"]
    namespace.client.create(path, endpoint_slice("bad", endpoints=[]))
    found = [text.split(":")[0] for text in namespace.messages("PUT", f"{path}/bad", bad)]
    assert found == [
        "addressType",
        "ports[0].protocol",
        "endpoints[0].hostname",
        "addressType",
        "endpoints[0].addresses",
    ]


def test_ports_have_names_of_their_own(namespace: Any) -> None:
    path = namespace.path("endpointslices", group=GROUP)
    ports = [{"port": 80}, {"port": 81}, {"name": "A", "port": 82, "protocol": "ICMP"}]
    wrong = namespace.messages("POST", path, endpoint_slice("bad", endpoints=[], ports=ports))
    assert [text.split(":")[0] for text in wrong] == ["ports[1].name", "ports[2].name", "ports[2].protocol"]


def test_the_kind_of_addresses_stays_and_what_changes_is_counted(namespace: Any) -> None:
    path = namespace.path("endpointslices", group=GROUP)
    made = namespace.client.create(path, endpoint_slice("s", endpoints=[]))
    assert made["metadata"]["generation"] == 1
    assert namespace.messages("PUT", f"{path}/s", endpoint_slice("s", "IPv6", endpoints=[])) == [
        "addressType: Invalid value: null: field is immutable"
    ]
    _, same = namespace.client.call("PUT", f"{path}/s", endpoint_slice("s", endpoints=[]))
    assert same["metadata"]["generation"] == 1
    _, more = namespace.client.call("PUT", f"{path}/s", endpoint_slice("s", endpoints=[{"addresses": ["10.1.0.1"]}]))
    assert more["metadata"]["generation"] == 2


def test_few_addresses_and_ports_are_shown(namespace: Any) -> None:
    path = namespace.path("endpointslices", group=GROUP)
    four = [{"addresses": [f"10.1.0.{i}"]} for i in range(4)]
    namespace.client.create(path, endpoint_slice("s", endpoints=four, ports=[{"port": 80}, {"name": "b"}]))
    namespace.client.create(path, endpoint_slice("t", endpoints=[]))
    _, table = namespace.client.call("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    assert [row["cells"][:4] for row in table["rows"]] == [
        ["s", "IPv4", "80,b", "10.1.0.0,10.1.0.1,10.1.0.2 + 1 more..."],
        ["t", "IPv4", "<unset>", "<unset>"],
    ]
