"""The service `kubernetes`: where it points, and which servers are behind it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from tests.conftest import Etcd
from tests.server_process import Client, Server

NewServer = Callable[..., Server]
DEFAULT = "/api/v1/namespaces/default"
SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"


def states(client: Client, path: str) -> Iterator[Any]:
    """The object `kubernetes` as it changes."""
    response = client.send("GET", f"{path}?watch=true&fieldSelector=metadata.name=kubernetes")
    while line := response.readline():
        yield json.loads(line)["object"]


def wait_for(client: Client, path: str, wanted: Callable[[Any], object]) -> Any:
    found = next(state for state in states(client, path) if wanted(state))
    client.connection.close()
    return found


def addresses(endpoints: Any) -> list[str]:
    return [a["ip"] for subset in endpoints.get("subsets") or () for a in subset.get("addresses") or ()]


def test_the_service_has_the_first_address_and_points_at_the_port(new_server: NewServer) -> None:
    server = new_server("--advertise-address=192.0.2.10", "--service-cluster-ip-range=10.3.0.0/24").start()
    with server.client() as client:
        service = wait_for(client, f"{DEFAULT}/services", lambda _: True)
        assert service["spec"]["clusterIP"] == "10.3.0.1"
        assert service["spec"]["ports"] == [
            {"name": "https", "protocol": "TCP", "port": 443, "targetPort": server.port}
        ]
        endpoints = wait_for(client, f"{DEFAULT}/endpoints", addresses)
        assert addresses(endpoints) == ["192.0.2.10"]
        assert endpoints["subsets"][0]["ports"] == [{"name": "https", "port": server.port, "protocol": "TCP"}]
        found = wait_for(client, SLICES, lambda state: state["endpoints"])
        assert (found["addressType"], found["endpoints"][0]["addresses"]) == ("IPv4", ["192.0.2.10"])
        assert found["metadata"]["labels"] == {"kubernetes.io/service-name": "kubernetes"}


def test_the_service_can_have_a_node_port(new_server: NewServer) -> None:
    server = new_server("--kubernetes-service-node-port=30443").start()
    with server.client() as client:
        spec = wait_for(client, f"{DEFAULT}/services", lambda _: True)["spec"]
    assert (spec["type"], spec["ports"][0]["nodePort"]) == ("NodePort", 30443)


def test_an_address_that_nobody_else_can_reach_is_no_endpoint(new_server: NewServer) -> None:
    server = new_server("--advertise-address=127.0.0.1").start()
    assert "endpoints_not_kept" in server.said
    with server.client() as client:
        wait_for(client, f"{DEFAULT}/services", lambda _: True)
        assert client.get(f"{DEFAULT}/endpoints")["items"] == []


def test_every_server_is_behind_the_service_as_long_as_it_runs(new_server: NewServer, etcd: Etcd) -> None:
    store = (f"--etcd-servers={etcd.url}", "--etcd-prefix=/kubernetes-service")
    first = new_server(*store, "--advertise-address=192.0.2.11").start()
    second = new_server(*store, "--advertise-address=192.0.2.12").start()
    with first.client() as client:
        wait_for(client, f"{DEFAULT}/endpoints", lambda state: addresses(state) == ["192.0.2.11", "192.0.2.12"])
        assert second.stop() == 0
        wait_for(client, f"{DEFAULT}/endpoints", lambda state: addresses(state) == ["192.0.2.11"])


def test_with_a_count_the_last_to_come_stays(new_server: NewServer, etcd: Etcd) -> None:
    store = (f"--etcd-servers={etcd.url}", "--etcd-prefix=/counted-service", "--endpoint-reconciler-type=master-count")
    first = new_server(*store, "--apiserver-count=1", "--advertise-address=192.0.2.21").start()
    with first.client() as client:
        wait_for(client, f"{DEFAULT}/endpoints", lambda state: addresses(state) == ["192.0.2.21"])
    new_server(*store, "--apiserver-count=1", "--advertise-address=192.0.2.22").start()
    with first.client() as client:
        wait_for(client, f"{DEFAULT}/endpoints", lambda state: addresses(state) == ["192.0.2.22"])


def test_the_default_range_becomes_dual_stack_with_the_flag(new_server: NewServer) -> None:
    server = new_server("--service-cluster-ip-range=10.3.0.0/24").start()
    assert server.stop() == 0
    server.start("--service-cluster-ip-range=10.3.0.0/24,fd00:3::/112")
    with server.client() as client:
        found = client.get("/apis/networking.k8s.io/v1/servicecidrs/kubernetes")
    assert found["spec"]["cidrs"] == ["10.3.0.0/24", "fd00:3::/112"]
