"""Addresses in API fields: what is read, what is allowed, what is warned of."""

from __future__ import annotations

from ipaddress import IPv4Address, IPv6Address, IPv6Network

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kapi.api.addresses import (
    IPV6,
    cidr_warnings,
    ip_text,
    ip_warnings,
    parse_cidr,
    parse_ip,
    validate_canonical_cidr,
    validate_canonical_ip,
    validate_cidr,
    validate_endpoint_ip,
    validate_ip,
)
from kapi.api.ports import port_name


@given(st.ip_addresses())
def test_every_address_is_read_and_written_in_its_canonical_form(address: IPv4Address | IPv6Address) -> None:
    ip = parse_ip(address.exploded)
    assert ip is not None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    assert ip.value == int(mapped or address)
    assert str(ip) == str(mapped or address)


@pytest.mark.parametrize(
    "text", ["", "10.0.0", "10.0.0.256", "1.2.3.4.5", "1.2.3.-4", "fe80::1%eth0", "::g", "1.2.3.٤"]
)
def test_what_is_no_address_is_refused(text: str) -> None:
    assert parse_ip(text) is None
    assert "must be a valid IP address" in str(validate_ip("ip", text)[0])


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("010.0.0.1", "must not have leading 0s"),
        ("::ffff:1.2.3.4", "must not be an IPv4-mapped IPv6 address"),
    ],
)
def test_what_others_read_differently_is_refused_unless_it_was_there_before(text: str, problem: str) -> None:
    assert [error.detail for error in validate_ip("ip", text)] == [problem]
    assert validate_ip("ip", text, [text]) == []
    assert "is invalid: use" in ip_warnings("ip", text)[0]


def test_only_new_fields_demand_the_canonical_form() -> None:
    assert validate_ip("ip", "fd00:0::1") == []
    assert ip_warnings("ip", "fd00:0::1") == [
        'ip: IPv6 address "fd00:0::1" should be in RFC 5952 canonical format ("fd00::1")'
    ]
    assert [e.detail for e in validate_canonical_ip("ip", "fd00:0::1")] == ['must be in canonical form ("fd00::1")']
    assert [e.detail for e in validate_canonical_cidr("c", "FD00::/64")] == ['must be in canonical form ("fd00::/64")']


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("10.0.0.0", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.0.0.0/33", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("10.0.0.0/-1", "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"),
        ("010.0.0.0/8", "must not have leading 0s in IP or prefix length"),
        ("10.0.0.0/08", "must not have leading 0s in IP or prefix length"),
        ("::ffff:10.0.0.0/104", "must not have an IPv4-mapped IPv6 address"),
        ("10.0.0.1/8", "must not have bits set beyond the prefix length"),
    ],
)
def test_what_is_no_network_is_refused(text: str, problem: str) -> None:
    assert [error.detail for error in validate_cidr("cidr", text)] == [problem]


def test_a_network_with_host_bits_is_told_what_it_could_mean() -> None:
    assert cidr_warnings("c", "10.0.0.1/8") == [
        'c: CIDR value "10.0.0.1/8" is ambiguous in this context (should be "10.0.0.0/8" or "10.0.0.1/32"?)'
    ]


@given(st.ip_addresses(v=6), st.integers(0, 128))
def test_a_network_begins_and_ends_where_it_should(address: IPv6Address, bits: int) -> None:
    cidr, expected = parse_cidr(f"{address}/{bits}"), IPv6Network((int(address), bits), strict=False)
    if cidr is None or cidr.family != IPV6:
        return  # written as an IPv4 address
    assert (cidr.first, cidr.last) == (int(expected[0]), int(expected[-1]))
    assert ip_text(IPV6, cidr.first) == str(expected.network_address)


@pytest.mark.parametrize(
    ("text", "range_"),
    [
        ("0.0.0.0", "unspecified"),
        ("127.1.2.3", "loopback"),
        ("::1", "loopback"),
        ("169.254.0.1", "link-local range"),
        ("fe80::1", "link-local range"),
        ("224.0.0.1", "link-local multicast"),
        ("ff02::1", "link-local multicast"),
    ],
)
def test_nobody_can_be_reached_at_a_special_address(text: str, range_: str) -> None:
    assert range_ in validate_endpoint_ip("ip", text)[0].detail
    assert validate_endpoint_ip("ip", "10.0.0.1") == validate_endpoint_ip("ip", "fd00::1") == []


def test_a_port_name_is_short_lower_case_and_has_a_letter() -> None:
    assert port_name("http-2") == []
    assert port_name("80") == ["must contain at least one letter (a-z)"]
    assert len(port_name("-A--very-long-name")) == 4
