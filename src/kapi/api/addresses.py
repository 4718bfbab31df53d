"""IP addresses and networks in API fields: how they are read, which are allowed and why not, in upstream's words.

Reading is as lenient as the oldest clients need it (leading zeros, IPv4 mapped into IPv6); what is allowed is not.
"""

from __future__ import annotations

import socket
from collections.abc import Container
from typing import NamedTuple

from kapi.api.fields import FieldError, invalid

IPV4, IPV6 = "IPv4", "IPv6"
WIDTH = {IPV4: 32, IPV6: 128}


class IP(NamedTuple):
    family: str
    value: int

    def __str__(self) -> str:
        return ip_text(self.family, self.value)


class CIDR(NamedTuple):
    """A network. `address` is the value as it was written, which may have bits beyond the prefix."""

    family: str
    address: int
    bits: int

    @property
    def size(self) -> int:
        return 1 << (WIDTH[self.family] - self.bits)

    @property
    def first(self) -> int:
        return self.address & ~(self.size - 1)

    @property
    def last(self) -> int:
        return self.first + self.size - 1

    def holds(self, ip: IP) -> bool:
        return ip.family == self.family and self.first <= ip.value <= self.last

    def __str__(self) -> str:
        return f"{ip_text(self.family, self.first)}/{self.bits}"


def ip_text(family: str, value: int) -> str:
    """The canonical form (RFC 5952)."""
    if family == IPV4:
        return socket.inet_ntop(socket.AF_INET, value.to_bytes(4, "big"))
    groups = [value >> shift & 0xFFFF for shift in range(112, -1, -16)]
    start, length = _longest_zeros(groups)
    if length < 2:
        return ":".join(f"{g:x}" for g in groups)
    head, tail = groups[:start], groups[start + length :]
    return ":".join(f"{g:x}" for g in head) + "::" + ":".join(f"{g:x}" for g in tail)


def _longest_zeros(groups: list[int]) -> tuple[int, int]:
    best, run = (0, 0), 0
    for i, group in enumerate(groups):
        run = run + 1 if group == 0 else 0
        if run > best[1]:
            best = (i - run + 1, run)
    return best


def parse_ip(text: str) -> IP | None:
    """As upstream's ParseIPSloppy: an IPv4 address written as an IPv6 one is the IPv4 address."""
    parsed = _parse(text)
    if parsed is None:
        return None
    family, value = parsed
    if family == IPV6 and value >> 32 == 0xFFFF:
        return IP(IPV4, value & 0xFFFFFFFF)
    return IP(family, value)


def _parse(text: str) -> tuple[str, int] | None:
    if ":" not in text:
        octets = text.split(".")
        if len(octets) != 4 or not all(o.isascii() and o.isdigit() and int(o) < 256 for o in octets):
            return None
        return IPV4, int.from_bytes(bytes(map(int, octets)), "big")
    try:
        return IPV6, int.from_bytes(socket.inet_pton(socket.AF_INET6, text), "big")
    except (OSError, ValueError):
        return None


def parse_cidr(text: str) -> CIDR | None:
    """As upstream's ParseCIDRSloppy."""
    address, slash, length = text.partition("/")
    parsed = _parse(address)
    if parsed is None or not slash or not (length.isascii() and length.isdigit()):
        return None
    (family, value), bits = parsed, int(length)
    if bits > WIDTH[family]:
        return None
    if family == IPV6 and value >> 32 == 0xFFFF and bits >= 96:
        return CIDR(IPV4, value & 0xFFFFFFFF, bits - 96)
    return CIDR(family, value, bits)


def is_ipv6(text: str) -> bool:
    ip = parse_ip(text)
    return ip is not None and ip.family == IPV6


def _leading_zeros(address: str) -> bool:
    return any(len(octet) > 1 and octet[0] == "0" for octet in address.rpartition(":")[2].split(".")) and "." in address


def _mapped(address: str) -> bool:
    parsed = _parse(address)
    return parsed is not None and parsed[0] == IPV6 and parsed[1] >> 32 == 0xFFFF


def validate_ip(path: str, value: str, known: Container[str] = ()) -> list[FieldError]:
    """A field that need not be in canonical form. What the object had before (`known`) is not judged again."""
    if value in known:
        return []
    if parse_ip(value) is None:
        return [invalid(path, value, "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)")]
    if _leading_zeros(value):
        return [invalid(path, value, "must not have leading 0s")]
    if _mapped(value):
        return [invalid(path, value, "must not be an IPv4-mapped IPv6 address")]
    return []


def validate_canonical_ip(path: str, value: str) -> list[FieldError]:
    found = validate_ip(path, value)
    if not found and value != str(parse_ip(value)):
        found = [invalid(path, value, f'must be in canonical form ("{parse_ip(value)}")')]
    return found


def validate_cidr(path: str, value: str, known: Container[str] = ()) -> list[FieldError]:
    """A network that need not be in canonical form."""
    if value in known:
        return []
    cidr = parse_cidr(value)
    if cidr is None:
        return [invalid(path, value, "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)")]
    address, _, length = value.partition("/")
    if _leading_zeros(address) or (len(length) > 1 and length[0] == "0"):
        return [invalid(path, value, "must not have leading 0s in IP or prefix length")]
    if _mapped(address):
        return [invalid(path, value, "must not have an IPv4-mapped IPv6 address")]
    if cidr.address != cidr.first:
        return [invalid(path, value, "must not have bits set beyond the prefix length")]
    return []


def validate_canonical_cidr(path: str, value: str) -> list[FieldError]:
    found = validate_cidr(path, value)
    if not found and value != str(parse_cidr(value)):
        found = [invalid(path, value, f'must be in canonical form ("{parse_cidr(value)}")')]
    return found


def ip_warnings(path: str, value: str) -> list[str]:
    """What to tell about an allowed address that others may read differently."""
    ip = parse_ip(value)
    if ip is None:
        return []
    if _leading_zeros(value) or _mapped(value):
        return [f'{path}: non-standard IP address "{value}" is invalid: use "{ip}"']
    if ip.family == IPV6 and str(ip) != value:
        return [f'{path}: IPv6 address "{value}" should be in RFC 5952 canonical format ("{ip}")']
    return []


def cidr_warnings(path: str, value: str) -> list[str]:
    cidr = parse_cidr(value)
    if cidr is None:
        return []
    found = []
    if cidr.address != cidr.first:
        single = f"{ip_text(cidr.family, cidr.address)}/{WIDTH[cidr.family]}"
        found.append(f'{path}: CIDR value "{value}" is ambiguous in this context (should be "{cidr}" or "{single}"?)')
    address, _, length = value.partition("/")
    if _leading_zeros(address) or (len(length) > 1 and length[0] == "0") or _mapped(address):
        found.append(f'{path}: non-standard CIDR value "{value}" is invalid: use "{cidr}"')
    if not found and cidr.family == IPV6 and str(cidr) != value:
        found.append(f'{path}: IPv6 CIDR value "{value}" should be in RFC 5952 canonical format ("{cidr}")')
    return found


def validate_endpoint_ip(path: str, value: str) -> list[FieldError]:
    """Addresses that traffic cannot be sent to are no endpoints."""
    ip = parse_ip(value)
    if ip is None:
        return [invalid(path, value, "must be a valid IP address")]
    found = []
    v4 = ip.family == IPV4
    if ip.value == 0:
        found.append(f"may not be unspecified ({value})")
    if ip.value >> 24 == 127 if v4 else ip.value == 1:
        found.append("may not be in the loopback range (127.0.0.0/8, ::1/128)")
    if ip.value >> 16 == 0xA9FE if v4 else ip.value >> 118 == 0xFE80 >> 6:
        found.append("may not be in the link-local range (169.254.0.0/16, fe80::/10)")
    if ip.value >> 8 == 0xE00000 if v4 else ip.value >> 112 & 0xFF0F == 0xFF02:
        found.append("may not be in the link-local multicast range (224.0.0.0/24, ff02::/10)")
    return [invalid(path, value, text) for text in found]
