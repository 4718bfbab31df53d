"""Services: what fits together in one, what an update may change, and how they are shown."""

from __future__ import annotations

from typing import Any

import pytest

MERGE = {"content_type": "application/merge-patch+json"}


def service(name: str, **spec: Any) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}


PORTS = [{"port": 80}]


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({}, ["spec.ports: Required value"]),
        ({"ports": [{"port": 0}]}, "spec.ports[0].port: Invalid value: 0: must be between 1 and 65535, inclusive"),
        (
            {"ports": [{"port": 1, "name": "a"}, {"port": 1, "name": "a"}]},
            [
                'spec.ports[1].name: Duplicate value: "a"',
                'spec.ports[1]: Duplicate value: {"Name":"","Protocol":"TCP","AppProtocol":null,"Port":1,'
                '"TargetPort":0,"NodePort":0}',
            ],
        ),
        (
            {"ports": PORTS, "trafficDistribution": "Near"},
            'spec.trafficDistribution: Unsupported value: "Near": supported values: "PreferClose", "PreferSameZone", '
            '"PreferSameNode"',
        ),
        (
            {
                "ports": PORTS,
                "sessionAffinity": "ClientIP",
                "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}},
            },
            "spec.sessionAffinityConfig.clientIP.timeoutSeconds: Invalid value: 0: must be greater than 0 and less "
            "than 86400",
        ),
        (
            {"ports": PORTS, "externalIPs": ["127.0.0.1"]},
            'spec.externalIPs[0]: Invalid value: "127.0.0.1": may not be in the loopback range (127.0.0.0/8, ::1/128)',
        ),
        (
            {"ports": PORTS, "loadBalancerSourceRanges": ["10.0.0.0/8"]},
            "spec.LoadBalancerSourceRanges: Forbidden: may only be used when `type` is 'LoadBalancer'",
        ),
        (
            {"ports": PORTS, "clusterIP": "None", "type": "NodePort"},
            "spec.clusterIPs[0]: Invalid value: \"None\": may not be set to 'None' for NodePort services",
        ),
        (
            {"type": "ExternalName", "externalName": "a_b", "clusterIP": "10.0.0.9"},
            "spec.clusterIPs: Forbidden: may not be set for ExternalName services",
        ),
        (
            {"type": "ExternalName", "externalName": "a.b", "ipFamilyPolicy": ""},
            ["spec.ipFamilyPolicy: Forbidden: may not be set for ExternalName services"],
        ),
        (
            {"ports": PORTS, "clusterIPs": ["10.0.0.9"]},
            'spec.clusterIPs: Invalid value: ["10.0.0.9"]: must be empty when `clusterIP` is not specified',
        ),
        (
            {"ports": PORTS, "ipFamilyPolicy": "RequireDualStack"},
            'spec.ipFamilyPolicy: Invalid value: "RequireDualStack": this cluster is not configured for dual-stack '
            "services",
        ),
        (
            {"ports": PORTS, "ipFamilies": ["IPv6"]},
            'spec.ipFamilies[0]: Invalid value: "IPv6": not configured on this cluster',
        ),
    ],
)
def test_a_service_that_does_not_fit_together_is_refused(namespace: Any, spec: Any, wrong: Any) -> None:
    found = namespace.messages("POST", namespace.path("services"), service("bad", **spec))
    if isinstance(wrong, list):
        assert found == wrong
    else:
        assert wrong in found


def test_what_is_left_out_is_filled_in_by_type(namespace: Any) -> None:
    path = namespace.path("services")
    plain = namespace.client.create(
        path,
        service(
            "plain",
            ports=[
                {"port": 80},
            ],
        ),
    )["spec"]
    assert plain["ports"] == [{"port": 80, "protocol": "TCP", "targetPort": 80}]
    assert (plain["type"], plain["ipFamilies"], plain["ipFamilyPolicy"]) == ("ClusterIP", ["IPv4"], "SingleStack")
    assert plain["clusterIPs"] == [plain["clusterIP"]]
    assert "externalTrafficPolicy" not in plain

    balanced = namespace.client.create(
        path, service("balanced", type="LoadBalancer", ports=PORTS, externalTrafficPolicy="Local")
    )["spec"]
    assert balanced["allocateLoadBalancerNodePorts"] is True
    assert 30000 <= balanced["healthCheckNodePort"] <= 32767
    assert balanced["ports"][0]["nodePort"] != balanced["healthCheckNodePort"]

    bare = namespace.client.create(path, service("bare", ports=PORTS, clusterIP="None"))["spec"]
    assert (bare["ipFamilies"], bare["ipFamilyPolicy"]) == (["IPv4", "IPv6"], "RequireDualStack")

    alias = namespace.client.create(path, service("alias", type="ExternalName", externalName="a.example.com."))["spec"]
    assert alias == {"type": "ExternalName", "externalName": "a.example.com.", "sessionAffinity": "None"}


def test_one_number_for_two_protocols_is_one_node_port(namespace: Any) -> None:
    ports = [{"name": "t", "port": 53}, {"name": "u", "port": 53, "protocol": "UDP"}]
    made = namespace.client.create(namespace.path("services"), service("dns", type="NodePort", ports=ports))
    numbers = {port["nodePort"] for port in made["spec"]["ports"]}
    assert len(numbers) == 1


def test_the_first_cluster_address_stays(namespace: Any) -> None:
    made = namespace.client.create(namespace.path("services"), service("fixed", ports=PORTS))
    path, ip = namespace.path("services", "fixed"), made["spec"]["clusterIP"]
    for wanted in ("None", "10.0.0.250"):
        changed = service("fixed", ports=PORTS, clusterIP=wanted)
        assert namespace.messages("PUT", path, changed) == [
            f'spec.clusterIPs[0]: Invalid value: ["{wanted}"]: may not change once set'
        ]
    status, same = namespace.client.call("PUT", path, service("fixed", ports=[{"port": 81}]))
    assert (status, same["spec"]["clusterIP"]) == (200, ip)


def test_a_change_of_type_gives_back_what_the_new_one_has_no_use_for(namespace: Any) -> None:
    path = namespace.path("services")
    made = namespace.client.create(path, service("moving", type="LoadBalancer", ports=PORTS))["spec"]
    address = f"/apis/networking.k8s.io/v1/ipaddresses/{made['clusterIP']}"
    assert namespace.client.get(address)["spec"]["parentRef"]["name"] == "moving"

    status, inner = namespace.client.call("PATCH", f"{path}/moving", {"spec": {"type": "ClusterIP"}}, **MERGE)
    assert status == 200
    assert "nodePort" not in inner["spec"]["ports"][0]
    assert not {"allocateLoadBalancerNodePorts", "externalTrafficPolicy"} & inner["spec"].keys()
    again = service("other", type="NodePort", ports=[{"port": 80, "nodePort": made["ports"][0]["nodePort"]}])
    namespace.client.create(path, again)

    alias = {"spec": {"type": "ExternalName", "externalName": "a.example.com"}}
    status, outer = namespace.client.call("PATCH", f"{path}/moving", alias, **MERGE)
    assert status == 200
    assert (
        not {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy", "internalTrafficPolicy"} & outer["spec"].keys()
    )
    assert namespace.client.call("GET", address)[0] == 404

    status, back = namespace.client.call("PATCH", f"{path}/moving", {"spec": {"type": "ClusterIP"}}, **MERGE)
    assert status == 200
    assert back["spec"]["clusterIPs"] == [back["spec"]["clusterIP"]]


def test_a_balancer_reports_only_addresses_and_only_on_its_type(namespace: Any) -> None:
    path = namespace.path("services")
    namespace.client.create(path, service("lb", type="LoadBalancer", ports=PORTS))
    namespace.client.create(path, service("inner", ports=PORTS))
    status = f"{path}/lb/status"
    points = [{"ip": "junk"}, {"hostname": "192.0.2.1"}, {"hostname": "b.example.com", "ipMode": "VIP"}]
    wrong = namespace.messages("PATCH", status, {"status": {"loadBalancer": {"ingress": points}}}, **MERGE)
    assert [text.split(": ")[0].removeprefix("status.loadBalancer.ingress") for text in wrong] == [
        "[0].ip",
        "[1].hostname",
        "[2].ipMode",
    ]
    here = {"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}
    code, shown = namespace.client.call("PATCH", status, here, **MERGE)
    assert (code, shown["status"]["loadBalancer"]["ingress"]) == (200, [{"ip": "192.0.2.1", "ipMode": "VIP"}])
    assert namespace.messages("PATCH", f"{path}/inner/status", here, **MERGE) == [
        "status.loadBalancer.ingress: Forbidden: may only be used when `spec.type` is 'LoadBalancer'"
    ]


def test_an_update_of_a_missing_service_creates_it(namespace: Any) -> None:
    path = namespace.path("services", "fresh")
    assert namespace.client.call("PUT", path, service("fresh", ports=PORTS))[0] == 201


def test_a_deleted_service_is_answered_with_itself(namespace: Any) -> None:
    namespace.client.create(namespace.path("services"), service("gone", ports=PORTS))
    status, gone = namespace.client.call("DELETE", namespace.path("services", "gone"))
    assert (status, gone["kind"], gone["metadata"]["name"]) == (200, "Service", "gone")


def test_services_are_selected_by_type_and_address_and_shown_in_columns(namespace: Any) -> None:
    path = namespace.path("services")
    ports = [{"name": "a", "port": 80}, {"name": "b", "port": 53, "protocol": "UDP", "nodePort": 30053}]
    made = namespace.client.create(path, service("np", type="NodePort", ports=ports, selector={"b": "2", "a": "1"}))
    namespace.client.create(path, service("alias", type="ExternalName", externalName="a.example.com"))
    ip, first = made["spec"]["clusterIP"], made["spec"]["ports"][0]["nodePort"]
    for selector in ("spec.type=NodePort", f"spec.clusterIP={ip}"):
        found = namespace.client.get(f"{path}?fieldSelector={selector}")
        assert [item["metadata"]["name"] for item in found["items"]] == ["np"]
    _, table = namespace.client.call("GET", path, accept="application/json;as=Table;v=v1;g=meta.k8s.io")
    heads = [column["name"] for column in table["columnDefinitions"]]
    assert heads == ["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector"]
    rows = {row["cells"][0]: row["cells"][1:5] + row["cells"][6:] for row in table["rows"]}
    assert rows["np"] == ["NodePort", ip, "<none>", f"80:{first}/TCP,53:30053/UDP", "a=1,b=2"]
    assert rows["alias"] == ["ExternalName", "<none>", "a.example.com", "<none>", "<none>"]
