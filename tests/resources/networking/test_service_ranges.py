"""IPAddresses and ServiceCIDRs: names that are addresses, ranges that stay."""

from __future__ import annotations

import uuid
from typing import Any

import pytest

ADDRESSES, CIDRS = (f"/apis/networking.k8s.io/v1/{plural}" for plural in ("ipaddresses", "servicecidrs"))
MERGE = {"content_type": "application/merge-patch+json"}


def address(name: str, /, **parent: str) -> dict[str, Any]:
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": name},
        "spec": {"parentRef": parent},
    }


def cidr(*ranges: str, name: str = "") -> dict[str, Any]:
    metadata = {"name": name or f"r-{uuid.uuid4().hex[:8]}"}
    spec = {"cidrs": list(ranges)}
    return {"apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": metadata, "spec": spec}


@pytest.mark.parametrize("name", ["junk", "010.0.0.4", "fd00:0::1", "::ffff:1.2.3.4"])
def test_the_name_of_an_address_is_the_address(namespace: Any, name: str) -> None:
    wrong = namespace.messages("POST", ADDRESSES, address(name, resource="services", name="x"))
    assert wrong[0].startswith(f'metadata.name: Invalid value: "{name}": must ')


def test_an_address_belongs_to_something_and_stays_with_it(namespace: Any) -> None:
    assert namespace.messages("POST", ADDRESSES, address("192.0.2.7", namespace="a/b")) == [
        "spec.parentRef.namespace: Invalid value: \"a/b\": may not contain '/'",
        "spec.parentRef.resource: Required value",
        "spec.parentRef.name: Required value",
    ]
    namespace.client.create(ADDRESSES, address("192.0.2.7", resource="gateways", group="g.io", name="x"))
    try:
        changed = {"spec": {"parentRef": {"name": "y"}}}
        assert namespace.messages("PATCH", f"{ADDRESSES}/192.0.2.7", changed, **MERGE) == [
            "spec.parentRef: Invalid value: null: field is immutable"
        ]
        accept = "application/json;as=Table;v=v1;g=meta.k8s.io"
        _, table = namespace.client.call("GET", f"{ADDRESSES}/192.0.2.7", accept=accept)
        # As upstream: a row has one cell more than there are headings.
        assert [column["name"] for column in table["columnDefinitions"]] == ["Name", "ParentRef"]
        assert table["rows"][0]["cells"][:2] == ["192.0.2.7", "gateways.g.io/x"]
    finally:
        namespace.client.call("DELETE", f"{ADDRESSES}/192.0.2.7")


@pytest.mark.parametrize(
    ("ranges", "wrong"),
    [
        ([], "spec.cidrs: Required value: at least one CIDR required"),
        (["a", "b", "c"], 'spec.cidrs: Invalid value: {"CIDRs":["a","b","c"]}: may only hold up to 2 values'),
        (
            ["10.77.0.1/24"],
            'spec.cidrs[0]: Invalid value: "10.77.0.1/24": must not have bits set beyond the prefix length',
        ),
        (["10.77.0.0/24", "10.78.0.0/24"], "may specify no more than one IP for each IP family"),
    ],
)
def test_ranges_that_cannot_be_are_refused(namespace: Any, ranges: list[str], wrong: str) -> None:
    assert any(wrong in text for text in namespace.messages("POST", CIDRS, cidr(*ranges)))


def test_a_range_stays_but_another_family_may_join_it(namespace: Any) -> None:
    made = namespace.client.create(CIDRS, cidr("198.51.100.0/28"))
    path = f"{CIDRS}/{made['metadata']['name']}"
    try:
        changed = {"spec": {"cidrs": ["198.51.100.0/29"]}}
        assert namespace.messages("PATCH", path, changed, **MERGE) == [
            'spec.cidrs[0]: Invalid value: "198.51.100.0/29": field is immutable'
        ]
        both = {"spec": {"cidrs": ["198.51.100.0/28", "fd77::/112"]}}
        assert namespace.client.call("PATCH", path, both, **MERGE)[0] == 200
        one = {"spec": {"cidrs": ["198.51.100.0/28"]}}
        assert namespace.messages("PATCH", path, one, **MERGE) == [
            'spec.cidrs: Invalid value: ["198.51.100.0/28"]: field is immutable'
        ]
        none = {"spec": {"cidrs": []}}
        assert namespace.messages("PATCH", path, none, **MERGE) == ["spec.cidrs: Invalid value: []: field is immutable"]
    finally:
        namespace.client.call("DELETE", path)


def test_the_range_of_the_flag_is_an_object_that_is_ready(namespace: Any) -> None:
    found = namespace.client.get(f"{CIDRS}/kubernetes")
    assert found["spec"]["cidrs"] == ["10.0.0.0/24"]
    assert [(c["type"], c["status"]) for c in found["status"]["conditions"]] == [("Ready", "True")]
