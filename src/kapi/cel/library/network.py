"""IP addresses and CIDRs, read as Go's netip does."""

from __future__ import annotations

import math
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_network
from typing import Any

from kapi.cel import prices
from kapi.cel.functions import Library, method, overload
from kapi.cel.library.addresses import Address, AddressError, parse_address, parse_prefix, quoted
from kapi.cel.types import BOOL, INT, STRING, CelType, opaque
from kapi.cel.values import EvaluationError, NoSuchOverload

IP = opaque("net.IP")
CIDR = opaque("net.CIDR")


@dataclass(frozen=True, slots=True)
class IpValue:
    address: Address

    @property
    def cel_type(self) -> CelType:
        return IP

    @property
    def cel_size(self) -> int:
        return self.address.max_prefixlen // 8


@dataclass(frozen=True, slots=True)
class CidrValue:
    address: Address
    bits: int

    @property
    def cel_type(self) -> CelType:
        return CIDR

    @property
    def cel_size(self) -> int:
        return math.ceil(self.bits / 8)

    def __str__(self) -> str:
        return f"{self.address}/{self.bits}"

    def contains(self, address: Address) -> bool:
        return address.version == self.address.version and self._prefix(address) == self._prefix(self.address)

    def _prefix(self, address: Address) -> int:
        return int(address) >> (address.max_prefixlen - self.bits)


def parse_ip(text: str) -> Address:
    try:
        address = parse_address(text)
    except AddressError as error:
        message = f"IP Address {quoted(text)} parse error during conversion from string: {error}"
        raise EvaluationError(message) from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise EvaluationError(f"IP address {quoted(text)} with zone value is not allowed")
        if address.ipv4_mapped is not None:
            raise EvaluationError(f"IPv4-mapped IPv6 address {quoted(text)} is not allowed")
    return address


def parse_cidr(text: str) -> CidrValue:
    prefix = "network address parse error during conversion from string: "
    try:
        address, bits = parse_prefix(text)
    except AddressError as error:
        raise EvaluationError(f"{prefix * 2}{error}") from None
    if isinstance(address, IPv6Address) and address.ipv4_mapped is not None:
        raise EvaluationError(f'{prefix}IPv4-mapped IPv6 address "{text}" is not allowed')
    return CidrValue(address, bits)


def _succeeds(run: Any, text: str) -> bool:
    try:
        run(text)
    except EvaluationError:
        return False
    return True


def is_cidr(text: str) -> bool:
    return _succeeds(parse_cidr, text)


def is_global_unicast(value: IpValue) -> bool:
    address = value.address
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == IPv4Address("255.255.255.255")
    )


def is_link_local_multicast(value: IpValue) -> bool:
    if isinstance(value.address, IPv4Address):
        return int(value.address) >> 8 == 0xE00000
    return int(value.address) >> 112 & 0xFF0F == 0xFF02


def contains_ip(outer: CidrValue, text: str) -> bool:
    try:
        return outer.contains(parse_ip(text))
    except EvaluationError:  # as upstream, which does not say what is wrong with the text
        raise NoSuchOverload() from None


def contains_cidr(outer: CidrValue, inner: CidrValue) -> bool:
    return outer.bits <= inner.bits and outer.contains(inner.address)


def masked(value: CidrValue) -> CidrValue:
    network = ip_network((value.address, value.bits), strict=False)
    return CidrValue(network.network_address, value.bits)


def _contains_price(outer: Any, other: Any, _: Any) -> int:
    size = prices.size_of(outer)
    parse = math.ceil(len(other) * prices.TRAVERSAL) if isinstance(other, str) else 0
    return math.ceil(2 * size * prices.TRAVERSAL) + parse


def _contains_cidr_price(outer: Any, other: Any, result: Any) -> int:
    return _contains_price(outer, other, result) + math.ceil(prices.size_of(outer) * prices.TRAVERSAL) + 1


def ip_library() -> Library:
    def test(name: str, word: str, run: Any) -> Any:
        return {name: (method(f"ip_is_{word}", (IP,), BOOL, run),)}

    return Library(
        functions={
            "ip": (overload("string_to_ip", (STRING,), IP, lambda text: IpValue(parse_ip(text)), prices.traversal),),
            "isIP": (overload("is_ip", (STRING,), BOOL, lambda text: _succeeds(parse_ip, text), prices.traversal),),
            "ip.isCanonical": (
                overload("ip_is_canonical", (STRING,), BOOL, lambda text: str(parse_ip(text)) == text, prices.twice),
            ),
            "family": (method("ip_family", (IP,), INT, lambda value: value.address.version),),
            **test("isUnspecified", "unspecified", lambda value: value.address.is_unspecified),
            **test("isLoopback", "loopback", lambda value: value.address.is_loopback),
            **test("isLinkLocalMulticast", "link_local_multicast", is_link_local_multicast),
            **test("isLinkLocalUnicast", "link_local_unicast", lambda value: value.address.is_link_local),
            **test("isGlobalUnicast", "global_unicast", is_global_unicast),
            "string": (overload("ip_to_string", (IP,), STRING, lambda value: str(value.address)),),
        },
        types={IP.name: IP},
    )


def cidr_library() -> Library:
    return Library(
        functions={
            "cidr": (overload("string_to_cidr", (STRING,), CIDR, parse_cidr, prices.traversal),),
            "isCIDR": (overload("is_cidr", (STRING,), BOOL, is_cidr, prices.traversal),),
            "containsIP": (
                method(
                    "cidr_contains_ip_string", (CIDR, STRING), BOOL,
                    contains_ip, _contains_price,
                ),
                method(
                    "cidr_contains_ip_ip", (CIDR, IP), BOOL,
                    lambda value, other: value.contains(other.address), _contains_price,
                ),
            ),
            "containsCIDR": (
                method(
                    "cidr_contains_cidr_string", (CIDR, STRING), BOOL,
                    lambda value, text: contains_cidr(value, parse_cidr(text)), _contains_cidr_price,
                ),
                method("cidr_contains_cidr", (CIDR, CIDR), BOOL, contains_cidr, _contains_cidr_price),
            ),
            "ip": (method("cidr_ip", (CIDR,), IP, lambda value: IpValue(value.address)),),
            "prefixLength": (method("cidr_prefix_length", (CIDR,), INT, lambda value: value.bits),),
            "masked": (method("cidr_masked", (CIDR,), CIDR, masked),),
            "string": (overload("cidr_to_string", (CIDR,), STRING, str),),
        },
        types={CIDR.name: CIDR},
    )  # fmt: skip
