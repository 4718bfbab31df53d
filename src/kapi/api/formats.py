"""Formats of single values besides names: ports, addresses, environment variables, header names, paths.

Each check returns what is wrong, in upstream's words; nothing when the value is fine.
"""

from __future__ import annotations

import re
from ipaddress import AddressValueError, IPv4Address, IPv6Address

from kapi.api.fields import FieldError, invalid
from kapi.api.names import max_length

_is_port_charset = re.compile(r"[-a-z0-9]+\Z").match
_has_letter = re.compile(r"[a-z]").search
_is_header_name = re.compile(r"[-A-Za-z0-9]+\Z").match
# Printable ASCII but the equals sign.
_is_env_name = re.compile(r"[ -<>-~]+\Z").match
_UNDERSCORE_LABEL = "_?[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_UNDERSCORE_SUBDOMAIN = _UNDERSCORE_LABEL + r"(\." + _UNDERSCORE_LABEL + ")*"
_is_underscore_subdomain = re.compile(_UNDERSCORE_SUBDOMAIN + r"\Z").match

_NOT_AN_ADDRESS = "must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"


def inclusive_range(low: int, high: int) -> str:
    return f"must be between {low} and {high}, inclusive"


def port_number(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else [inclusive_range(1, 65535)]


def port_name(name: str) -> list[str]:
    """An IANA service name: 15 characters, one letter at least."""
    errors = [max_length(15)] if len(name.encode()) > 15 else []
    if not _is_port_charset(name):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(name):
        errors.append("must contain at least one letter (a-z)")
    if "--" in name:
        errors.append("must not contain consecutive hyphens")
    if name[:1] == "-" or name[-1:] == "-":
        errors.append("must not begin or end with a hyphen")
    return errors


def validate_port(port: int | str, path: str) -> list[FieldError]:
    """A port's number, or its name."""
    problems = port_name(port) if isinstance(port, str) else port_number(port)
    return [invalid(path, port, e) for e in problems]


def environment_name(name: str) -> list[str]:
    if not name:
        return ["environment variable name must be non-empty"]
    if _is_env_name(name):
        return []
    return ["a valid environment variable name must consist only of printable ASCII characters other than '='"]


def http_header_name(name: str) -> list[str]:
    if _is_header_name(name):
        return []
    return [
        "a valid HTTP header must consist of alphanumeric characters or '-' "
        "(e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"
    ]


def dns_subdomain_with_underscore(name: str) -> list[str]:
    errors = [max_length(253)] if len(name.encode()) > 253 else []
    if not _is_underscore_subdomain(name):
        errors.append(
            "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '_', '-' or '.', and "
            "must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
            f"'{_UNDERSCORE_SUBDOMAIN}')"
        )
    return errors


def _parse(address: str) -> IPv4Address | IPv6Address | None:
    """As Go parses it strictly; IPv6 zones are no part of an address here."""
    try:
        if ":" in address:
            return None if "%" in address else IPv6Address(address)
        return IPv4Address(address)
    except AddressValueError:
        return None


def _sloppy(address: str) -> str | None:
    """The address in canonical form, leading zeros and IPv4-mapped IPv6 allowed; None when it is none."""
    parsed = _parse(address)
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        return str(parsed.ipv4_mapped)
    if parsed is not None:
        return str(parsed)
    head, colon, tail = address.rpartition(":")
    parts = tail.split(".")
    if len(parts) != 4 or not all(p.isascii() and p.isdigit() for p in parts):
        return None
    parsed = _parse(head + colon + ".".join(str(int(p)) for p in parts))
    return None if parsed is None else _sloppy(str(parsed))


def ip_address(address: str) -> list[str]:
    """An address in a field that has always been strict about leading zeros and mapped addresses on new values."""
    parsed = _parse(address)
    if isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None:
        return ["must not be an IPv4-mapped IPv6 address"]
    if parsed is not None:
        return []
    return [_NOT_AN_ADDRESS] if _sloppy(address) is None else ["must not have leading 0s"]


def ip_warnings(address: str, path: str) -> list[str]:
    """What to tell a client that writes an address in an unusual way."""
    canonical = _sloppy(address)
    if canonical is None or canonical == address:
        return []
    parsed = _parse(address)
    if parsed is None or (isinstance(parsed, IPv6Address) and parsed.ipv4_mapped is not None):
        return [f'{path}: non-standard IP address "{address}" is invalid: use "{canonical}"']
    return [f'{path}: IPv6 address "{address}" should be in RFC 5952 canonical format ("{canonical}")']


def user_id(number: int) -> list[str]:
    """A user's or a group's."""
    return [] if 0 <= number <= 0x7FFFFFFF else [inclusive_range(0, 0x7FFFFFFF)]


def validate_no_backsteps(target: str, path: str) -> list[FieldError]:
    return [invalid(path, target, "must not contain '..'")] if ".." in target.split("/") else []


def validate_descending_path(target: str, path: str) -> list[FieldError]:
    """A relative path that stays below where it starts."""
    errors = [invalid(path, target, "must be a relative path")] if target.startswith("/") else []
    return errors + validate_no_backsteps(target, path)


def validate_unreserved_path(target: str, path: str) -> list[FieldError]:
    """The same, and its name is free for use in a volume that is written atomically."""
    errors = validate_descending_path(target, path)
    if target.startswith("..") and not target.startswith("../"):
        errors.append(invalid(path, target, "must not start with '..'"))
    return errors
