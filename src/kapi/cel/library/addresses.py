"""Addresses and prefixes as Go's netip reads them, with its words for what is wrong."""

from __future__ import annotations

import json
import re
from ipaddress import IPv4Address, IPv6Address

Address = IPv4Address | IPv6Address

_GROUPS = 8
_HEX = re.compile(r"[0-9a-fA-F]*")


class AddressError(ValueError):
    """The text is no address, or no prefix."""


def _wrong(text: str, reason: str, at: str = "") -> AddressError:
    place = f" (at {quoted(at)})" if at else ""
    return AddressError(f"ParseAddr({quoted(text)}): {reason}{place}")


def quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def parse_address(text: str) -> Address:
    """A zone is kept as the address's scope."""
    for character in text:
        if character == ".":
            return IPv4Address(_octets(text, text))
        if character == ":":
            return _parse_ipv6(text)
        if character == "%":
            raise _wrong(text, "missing IPv6 address")
    raise _wrong(text, "unable to parse IP")


def _octets(text: str, part: str) -> bytes:
    """The four bytes that a part of the text stands for."""
    octets: list[int] = []
    digits = ""
    for position, character in enumerate(part):
        if character in "0123456789":
            if digits == "0":
                raise _wrong(text, "IPv4 field has octet with leading zero")
            digits += character
            if int(digits) > 255:
                raise _wrong(text, "IPv4 field has value >255")
        elif character == ".":
            if position in (0, len(part) - 1) or not digits:
                raise _wrong(text, "IPv4 field must have at least one digit", part[position:])
            if len(octets) == 3:
                raise _wrong(text, "IPv4 address too long")
            octets.append(int(digits))
            digits = ""
        else:
            raise _wrong(text, "unexpected character", part[position:])
    if len(octets) < 3:
        raise _wrong(text, "IPv4 address too short")
    return bytes([*octets, int(digits)])


def _parse_ipv6(text: str) -> IPv6Address:
    rest, percent, zone = text.partition("%")
    if percent and not zone:
        raise _wrong(text, "zone must be a non-empty string")
    groups: list[int] = []
    ellipsis = -1
    if rest.startswith("::"):
        ellipsis, rest = 0, rest[2:]
    while rest and len(groups) < _GROUPS:
        digits = _group(text, rest)
        if rest[len(digits) : len(digits) + 1] == ".":
            groups += _embedded(text, rest, len(groups), ellipsis)
            rest = ""
            break
        groups.append(int(digits, 16))
        rest = _after_group(text, rest[len(digits) :])
        if rest.startswith(":"):
            if ellipsis >= 0:
                raise _wrong(text, "multiple :: in address", rest)
            ellipsis, rest = len(groups), rest[1:]
    if rest:
        raise _wrong(text, "trailing garbage after address", rest)
    value = int.from_bytes(b"".join(group.to_bytes(2) for group in _expanded(text, groups, ellipsis)))
    return IPv6Address(f"{IPv6Address(value)}%{zone}") if zone else IPv6Address(value)


def _group(text: str, rest: str) -> str:
    match = _HEX.match(rest)
    digits = match[0] if match is not None else ""
    if len(digits) > 4:
        raise _wrong(text, "each group must have 4 or less digits", rest)
    if not digits:
        raise _wrong(text, "each colon-separated field must have at least one digit", rest)
    return digits


def _after_group(text: str, rest: str) -> str:
    if not rest:
        return ""
    if rest[0] != ":":
        raise _wrong(text, "unexpected character, want colon", rest)
    if len(rest) == 1:
        raise _wrong(text, "colon must be followed by more characters", rest)
    return rest[1:]


def _embedded(text: str, rest: str, count: int, ellipsis: int) -> list[int]:
    """The two groups that an IPv4 address at the end stands for."""
    if ellipsis < 0 and count != _GROUPS - 2:
        raise _wrong(text, "embedded IPv4 address must replace the final 2 fields of the address", rest)
    if count + 2 > _GROUPS:
        raise _wrong(text, "too many hex fields to fit an embedded IPv4 at the end of the address", rest)
    octets = _octets(text, rest)
    return [int.from_bytes(octets[:2]), int.from_bytes(octets[2:])]


def _expanded(text: str, groups: list[int], ellipsis: int) -> list[int]:
    missing = _GROUPS - len(groups)
    if ellipsis < 0:
        if missing:
            raise _wrong(text, "address string too short")
        return groups
    if not missing:
        raise _wrong(text, "the :: must expand to at least one field of zeros")
    return [*groups[:ellipsis], *[0] * missing, *groups[ellipsis:]]


def parse_prefix(text: str) -> tuple[Address, int]:
    head, slash, tail = text.rpartition("/")
    try:
        if not slash:
            raise AddressError("no '/'")
        address = parse_address(head)
        if isinstance(address, IPv6Address) and address.scope_id is not None:
            raise AddressError("IPv6 zones cannot be present in a prefix")
        if not re.fullmatch(r"[0-9]|[1-9][0-9]{1,17}", tail):
            raise AddressError(f"bad bits after slash: {quoted(tail)}")
        if int(tail) > address.max_prefixlen:
            raise AddressError("prefix length out of range")
    except AddressError as error:
        raise AddressError(f"netip.ParsePrefix({quoted(text)}): {error}") from None
    return address, int(tail)
