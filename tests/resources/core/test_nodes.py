"""Nodes: they join not ready, and what identifies them stays."""

from __future__ import annotations

from typing import Any

import pytest

NODES = "v1:nodes"


def test_a_node_that_joins_is_tainted(cluster: Any) -> None:
    made = cluster.made(NODES, {"kind": "Node"})
    assert made["spec"]["taints"] == [{"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}]


def test_what_a_node_has_is_what_it_can_give_unless_it_says_otherwise(cluster: Any) -> None:
    made = cluster.made(NODES, {"kind": "Node", "status": {"capacity": {"cpu": "4", "memory": "1.0001m"}}})
    assert made["status"]["allocatable"] == {"cpu": "4", "memory": "2m"}


def test_one_pod_range_is_the_first_of_the_list(cluster: Any) -> None:
    made = cluster.made(NODES, {"kind": "Node", "spec": {"podCIDR": "10.1.0.0/24"}})
    assert made["spec"]["podCIDRs"] == ["10.1.0.0/24"]
    changed = {**made, "spec": {**made["spec"], "podCIDR": "10.2.0.0/24", "podCIDRs": ["10.2.0.0/24"]}}
    assert cluster.put(NODES, changed).problems == [
        'spec.podCIDRs: Forbidden: node updates may not change podCIDR except from "" to valid'
    ]


@pytest.mark.parametrize(
    ("spec", "wrong"),
    [
        ({"taints": [{"key": "a"}]}, ["metadata.taints[0].effect: Required value"]),
        (
            {"taints": [{"key": "a", "effect": "Maybe"}]},
            [
                'metadata.taints[0].effect: Unsupported value: "Maybe": supported values: "NoSchedule", '
                '"PreferNoSchedule", "NoExecute"'
            ],
        ),
        (
            {"podCIDRs": ["10.1.0.0/24", "x"]},
            [
                'spec.podCIDRs[1]: Invalid value: "x": must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)',
                "spec.podCIDRs: Internal error: invalid PodCIDRs. failed to check with dual stack with error:invalid "
                "CIDR[1]: <nil> (invalid CIDR address: x)",
                'spec.podCIDRs: Invalid value: ["10.1.0.0/24","x"]: may specify no more than one CIDR for each IP '
                "family",
            ],
        ),
        (
            {"podCIDRs": ["10.1.0.0/24", "10.2.0.0/24"]},
            [
                'spec.podCIDRs: Invalid value: ["10.1.0.0/24","10.2.0.0/24"]: may specify no more than one CIDR for '
                "each IP family"
            ],
        ),
    ],
)
def test_taints_and_ranges_are_checked(cluster: Any, spec: Any, wrong: list[str]) -> None:
    assert cluster.problems(NODES, {"kind": "Node", "spec": spec}) == wrong


def test_the_same_address_twice_is_refused(cluster: Any) -> None:
    made = cluster.made(NODES, {"kind": "Node"})
    address = {"type": "InternalIP", "address": "192.0.2.1"}
    made["status"]["addresses"] = [address, address]
    answer = cluster.call("PUT", f"{NODES}/{cluster.name}/status", made)
    assert answer.problems == [
        'status.addresses[1]: Duplicate value: {"Type":"InternalIP","Address":"192.0.2.1"}',
    ]


def test_nodes_show_whether_they_are_ready_and_what_for(cluster: Any) -> None:
    labels = {"node-role.kubernetes.io/control-plane": "", "kubernetes.io/role": "etcd"}
    conditions = [{"type": "Ready", "status": "False"}]
    node = {"metadata": {"labels": labels}, "spec": {"unschedulable": True}, "status": {"conditions": conditions}}
    cluster.made(NODES, {"kind": "Node", **node})
    cells = cluster.cells(NODES)
    assert (cells["Status"], cells["Roles"]) == ("NotReady,SchedulingDisabled", "control-plane,etcd")


def test_nodes_are_not_selected_by_a_namespace_and_are_no_lists(cluster: Any) -> None:
    cluster.made(NODES, {"kind": "Node"})
    answer = cluster.call("GET", f"{NODES}?fieldSelector=metadata.namespace%3Dx")
    assert (answer.status, answer.body["message"]) == (400, "field label not supported: metadata.namespace")
    accept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"
    answer = cluster.call("GET", f"{NODES}/{cluster.name}", accept=accept)
    assert (answer.status, answer.body["message"]) == (
        406,
        "you requested PartialObjectMetadataList, but the requested object is not a list (*core.Node)",
    )
    answer = cluster.call("GET", NODES, accept=accept.replace("List", ""))
    assert (answer.status, answer.body["message"]) == (
        406,
        "you requested PartialObjectMetadata, but the requested object is a list (*core.NodeList)",
    )
