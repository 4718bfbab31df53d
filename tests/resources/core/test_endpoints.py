"""Endpoints: addresses that can be reached, ports that can be told apart, and a warning on every request."""

from __future__ import annotations

from typing import Any


def endpoints(name: str, *subsets: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": name}, "subsets": list(subsets)}


def test_bad_addresses_and_ports_are_all_told(namespace: Any) -> None:
    subset = {
        "addresses": [{"ip": "127.0.0.1", "hostname": "A_b"}],
        "notReadyAddresses": [{"ip": "x"}],
        "ports": [{"port": 70000}, {"name": "b", "port": 80, "protocol": "ICMP"}],
    }
    wrong = namespace.messages("POST", namespace.path("endpoints"), endpoints("bad", subset, {"ports": [{"port": 1}]}))
    assert [text.split(": ")[0] for text in wrong] == [
        "subsets[0].addresses[0].hostname",
        "subsets[0].addresses[0].ip",
        "subsets[0].notReadyAddresses[0].ip",
        "subsets[0].notReadyAddresses[0].ip",
        "subsets[0].ports[0].name",
        "subsets[0].ports[0].port",
        "subsets[0].ports[1].protocol",
        "subsets[1]",
    ]
    assert wrong[-1] == "subsets[1]: Required value: must specify `addresses` or `notReadyAddresses`"


def test_every_request_is_told_to_use_slices(namespace: Any) -> None:
    path = namespace.path("endpoints")
    for method, at, body in (("POST", path, endpoints("e")), ("GET", f"{path}/e", None), ("GET", f"{path}/no", None)):
        response = namespace.client.send(method, at, body)
        response.read()
        assert response.headers.get_all("Warning") == [
            '299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"'
        ]


def test_the_first_three_addresses_are_shown(namespace: Any) -> None:
    path = namespace.path("endpoints")
    addresses = [{"ip": "10.1.0.1"}, {"ip": "fd00::1"}]
    ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
    namespace.client.create(path, endpoints("many", {"addresses": addresses, "ports": ports}))
    namespace.client.create(path, endpoints("none"))
    _, table = namespace.client.call("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    shown = {row["cells"][0]: row["cells"][1] for row in table["rows"]}
    assert shown == {"many": "10.1.0.1:1,[fd00::1]:1,10.1.0.1:2 + 1 more...", "none": "<none>"}
