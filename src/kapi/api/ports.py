"""Ports in API fields: which numbers and names are allowed, and why not."""

from __future__ import annotations

import re

from kapi.api.fields import FieldError, invalid
from kapi.api.names import max_length

PROTOCOLS = ("SCTP", "TCP", "UDP")
_is_charset = re.compile(r"[-a-z0-9]+\Z").match
_has_letter = re.compile("[a-z]").search


def port_number(port: int) -> list[str]:
    return [] if 1 <= port <= 65535 else ["must be between 1 and 65535, inclusive"]


def port_name(name: str) -> list[str]:
    """An IANA service name."""
    errors = [max_length(15)] if len(name.encode()) > 15 else []
    if not _is_charset(name):
        errors.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not _has_letter(name):
        errors.append("must contain at least one letter (a-z)")
    if "--" in name:
        errors.append("must not contain consecutive hyphens")
    if name and (name[0] == "-" or name[-1] == "-"):
        errors.append("must not begin or end with a hyphen")
    return errors


def validate_port(path: str, port: int | str) -> list[FieldError]:
    """A port by number or by name."""
    problems = port_name(port) if isinstance(port, str) else port_number(port)
    return [invalid(path, port, text) for text in problems]
