"""Addresses and node ports: given once, given back, and never by two servers."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from tests.conftest import Etcd
from tests.server_process import Client, Server

NewServer = Callable[..., Server]
SERVICES = "/api/v1/namespaces/default/services"
ADDRESSES = "/apis/networking.k8s.io/v1/ipaddresses"
MERGE = {"content_type": "application/merge-patch+json"}


def service(name: str, **spec: Any) -> dict[str, Any]:
    spec.setdefault("ports", [{"port": 80}])
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


def message(client: Client, code: int, body: Any, path: str = SERVICES) -> str:
    status, answer = client.call("POST", path, body)
    assert status == code, answer
    return str(answer["message"])


def taken(client: Client) -> set[str]:
    found = client.get(ADDRESSES)["items"]
    return {item["metadata"]["name"] for item in found}


@pytest.fixture
def narrow(new_server: NewServer) -> Server:
    """Six addresses, one of them the server's own, and two node ports."""
    server = new_server("--service-cluster-ip-range=10.9.0.0/29", "--service-node-port-range=30000-30001").start()
    with server.client() as client:
        wait_for_service(client)
    return server


def wait_for_service(client: Client) -> None:
    """The service of the server itself comes just after it is ready."""
    response = client.send("GET", f"{SERVICES}?watch=true&fieldSelector=metadata.name=kubernetes")
    assert json.loads(response.readline())["object"]["metadata"]["name"] == "kubernetes"
    client.connection.close()


def test_when_all_addresses_are_taken_the_next_service_is_told_so(narrow: Server) -> None:
    with narrow.client() as client:
        for i in range(5):
            client.create(SERVICES, service(f"s{i}"))
        assert taken(client) == {f"10.9.0.{i}" for i in range(1, 7)}
        assert message(client, 500, service("more")) == (
            'Internal error occurred: failed to allocate a serviceIP for Service "more": range is full'
        )
        assert client.call("DELETE", f"{SERVICES}/s3")[0] == 200
        client.create(SERVICES, service("more"))


def test_an_address_is_given_to_one_service_only(narrow: Server) -> None:
    with narrow.client() as client:
        client.create(SERVICES, service("first", clusterIP="10.9.0.4"))
        refused = 'Service "second" is invalid: spec.clusterIPs: Invalid value: ["{0}"]: failed to allocate IP {0}: {1}'
        for ip, why in (
            ("10.9.0.4", "provided IP is already allocated"),
            ("10.9.0.1", "provided IP is already allocated"),
            ("10.9.0.7", "the provided network does not match the current range"),
            ("10.8.0.1", "the provided network does not match the current range"),
        ):
            assert message(client, 422, service("second", clusterIP=ip)) == refused.format(ip, why)


def test_what_cannot_be_stored_takes_nothing(narrow: Server) -> None:
    with narrow.client() as client:
        before = taken(client)
        assert message(client, 422, service("Bad", type="NodePort"))
        client.create(SERVICES, service("there", type="ExternalName", externalName="a.example.com"))
        assert message(client, 409, service("there", type="NodePort")) == 'services "there" already exists'
        assert taken(client) == before
        ports = [{"name": "a", "port": 1}, {"name": "b", "port": 2}]
        client.create(SERVICES, service("both", type="NodePort", ports=ports))


def test_a_dry_run_takes_nothing(narrow: Server) -> None:
    with narrow.client() as client:
        before = taken(client)
        for _ in range(3):
            status, shown = client.call("POST", f"{SERVICES}?dryRun=All", service("dry", type="NodePort"))
            assert (status, shown["spec"]["clusterIP"]) == (201, "10.9.0.0")
        client.create(SERVICES, service("alias", type="ExternalName", externalName="a.example.com"))
        change = {"spec": {"type": "NodePort"}}
        assert client.call("PATCH", f"{SERVICES}/alias?dryRun=All", change, **MERGE)[0] == 200
        client.create(SERVICES, service("real", clusterIP="10.9.0.2"))
        assert client.call("DELETE", f"{SERVICES}/real?dryRun=All")[0] == 200
        assert taken(client) == before | {"10.9.0.2"}


def test_a_dry_run_finds_a_health_check_port_whatever_ports_were_asked_for(narrow: Server) -> None:
    odd = {"port": 80, "nodePort": -1}
    asked = service("dry", type="LoadBalancer", externalTrafficPolicy="Local", ports=[odd])
    with narrow.client() as client:
        status, shown = client.call("POST", f"{SERVICES}?dryRun=All", asked)
        assert status == 201 and shown["spec"]["healthCheckNodePort"] > 0


def test_node_ports_run_out_and_come_back(narrow: Server) -> None:
    with narrow.client() as client:
        client.create(SERVICES, service("one", type="NodePort", ports=[{"port": 80, "nodePort": 30001}]))
        client.create(SERVICES, service("two", type="NodePort"))
        assert message(client, 500, service("three", type="NodePort")) == (
            "Internal error occurred: failed to allocate a nodePort: range is full"
        )
        wanted = service("three", type="NodePort", ports=[{"port": 80, "nodePort": 30001}])
        assert "spec.ports[0].nodePort: Invalid value: 30001: provided port is already allocated" in message(
            client, 422, wanted
        )
        outside = service("three", type="NodePort", ports=[{"port": 80, "nodePort": 31000}])
        assert "The range of valid ports is 30000-30001" in message(client, 422, outside)
        assert client.call("PATCH", f"{SERVICES}/one", {"spec": {"type": "ClusterIP"}}, **MERGE)[0] == 200
        client.create(SERVICES, wanted)


def test_a_health_check_takes_a_port_of_its_own(narrow: Server) -> None:
    with narrow.client() as client:
        made = client.create(SERVICES, service("lb", type="LoadBalancer", externalTrafficPolicy="Local"))
        numbers = {made["spec"]["ports"][0]["nodePort"], made["spec"]["healthCheckNodePort"]}
        assert numbers == {30000, 30001}
        _, less = client.call("PATCH", f"{SERVICES}/lb", {"spec": {"externalTrafficPolicy": "Cluster"}}, **MERGE)
        assert "healthCheckNodePort" not in less["spec"]
        client.create(SERVICES, service("np", type="NodePort"))


def test_a_finalizer_keeps_the_address_until_it_goes(narrow: Server) -> None:
    with narrow.client() as client:
        kept = service("kept", clusterIP="10.9.0.5")
        kept["metadata"]["finalizers"] = ["example.com/wait"]
        client.create(SERVICES, kept)
        assert client.call("DELETE", f"{SERVICES}/kept")[0] == 200
        assert "10.9.0.5" in taken(client)
        # Also through the status, where finalizers can be removed as well.
        assert client.call("PATCH", f"{SERVICES}/kept/status", {"metadata": {"finalizers": None}}, **MERGE)[0] == 200
        assert client.call("GET", f"{SERVICES}/kept")[0] == 404
        assert "10.9.0.5" not in taken(client)


def test_a_range_that_is_added_gives_addresses_at_once(narrow: Server) -> None:
    more = {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": {"name": "more"}}
    with narrow.client() as client:
        client.create("/apis/networking.k8s.io/v1/servicecidrs", {**more, "spec": {"cidrs": ["10.9.1.0/29"]}})
        client.create(SERVICES, service("there", clusterIP="10.9.1.3"))
        for i in range(10):
            client.create(SERVICES, service(f"s{i}"))
        assert message(client, 500, service("last")).endswith("range is full")


def test_the_first_addresses_are_left_for_those_who_ask_for_them(new_server: NewServer) -> None:
    server = new_server("--service-cluster-ip-range=10.9.0.0/27").start()
    with server.client() as client:
        wait_for_service(client)
        given = {client.create(SERVICES, service(f"s{i}"))["spec"]["clusterIP"] for i in range(14)}
        assert given == {f"10.9.0.{i}" for i in range(17, 31)}
        assert client.create(SERVICES, service("next"))["spec"]["clusterIP"] in {f"10.9.0.{i}" for i in range(2, 17)}


def test_two_stacks_give_two_addresses_and_take_the_second_back(new_server: NewServer) -> None:
    server = new_server("--service-cluster-ip-range=10.9.0.0/24,fd00:9::/112").start()
    with server.client() as client:
        made = client.create(SERVICES, service("dual", ipFamilyPolicy="PreferDualStack"))["spec"]
        assert made["ipFamilies"] == ["IPv4", "IPv6"]
        assert set(made["clusterIPs"]) <= taken(client)
        single = {"spec": {"ipFamilyPolicy": "SingleStack"}}
        _, less = client.call("PATCH", f"{SERVICES}/dual", single, **MERGE)
        assert less["spec"]["clusterIPs"] == made["clusterIPs"][:1]
        assert made["clusterIPs"][1] not in taken(client)
        status, refused = client.call(
            "POST", SERVICES, service("odd", ipFamilies=["IPv6", "IPv4"], ipFamilyPolicy="SingleStack")
        )
        assert status == 422
        assert "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families" in refused["message"]
        six = client.create(SERVICES, service("six", clusterIP="fd00:9:0::8"))["spec"]
        assert (six["clusterIP"], six["ipFamilies"]) == ("fd00:9:0::8", ["IPv6"])
        assert "fd00:9::8" in taken(client)


def test_two_servers_on_one_store_never_give_the_same(new_server: NewServer, etcd: Etcd) -> None:
    flags = (
        f"--etcd-servers={etcd.url}",
        "--etcd-prefix=/two-servers-services",
        "--service-cluster-ip-range=10.9.0.0/26",
        "--service-node-port-range=30000-30059",
    )
    servers = [new_server(*flags).start(), new_server(*flags).start()]
    with servers[0].client() as client:
        wait_for_service(client)

    async def create_many(server: Server, name: str) -> list[dict[str, Any]]:
        made = []
        async with server.connected(server.tls()) as connection:
            for i in range(15):
                connection.send(SERVICES, "POST", json.dumps(service(f"{name}-{i}", type="NodePort")).encode())
                status, body = await connection.answer()
                assert status == 201, body
                made.append(json.loads(body)["spec"])
        return made

    async def at_once() -> list[dict[str, Any]]:
        lists = await asyncio.gather(*(create_many(s, f"s{i}-{j}") for i, s in enumerate(servers) for j in range(2)))
        return [spec for made in lists for spec in made]

    made = asyncio.run(at_once())
    assert len({spec["clusterIP"] for spec in made}) == 60
    assert {spec["ports"][0]["nodePort"] for spec in made} == set(range(30000, 30060))
    with servers[1].client() as client:
        assert message(client, 500, service("more", type="NodePort")).endswith("range is full")


def test_what_a_crash_has_left_behind_is_repaired_at_the_next_start(new_server: NewServer, etcd: Etcd) -> None:
    prefix = "/repaired-services"
    server = new_server(f"--etcd-servers={etcd.url}", f"--etcd-prefix={prefix}").start()
    with server.client() as client:
        ports = [{"port": 80, "nodePort": 30100}]
        client.create(SERVICES, service("kept", type="NodePort", clusterIP="10.0.0.5", ports=ports))
    server.end()
    leaked = json.loads(etcd.ctl("get", "--print-value-only", f"{prefix}/ipaddresses/10.0.0.5"))
    leaked["metadata"] |= {"name": "10.0.0.6", "creationTimestamp": "2020-01-01T00:00:00Z"}
    leaked["spec"]["parentRef"]["name"] = "never-stored"
    etcd.ctl("put", f"{prefix}/ipaddresses/10.0.0.6", json.dumps(leaked))
    etcd.ctl("del", f"{prefix}/ipaddresses/10.0.0.5")
    etcd.ctl("del", f"{prefix}/ranges/servicenodeports")
    server.start()
    with server.client() as client:
        assert client.get(f"{ADDRESSES}/10.0.0.5")["spec"]["parentRef"]["name"] == "kept"
        assert client.call("GET", f"{ADDRESSES}/10.0.0.6")[0] == 404
        assert "already allocated" in message(client, 422, service("other", type="NodePort", ports=ports))
