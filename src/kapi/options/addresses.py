"""The address that this server tells others to reach it at."""

from __future__ import annotations

import socket

# Documentation addresses: a UDP socket that is connected to one sends nothing, but has the default route's address.
_ELSEWHERE = ((socket.AF_INET, "192.0.2.1"), (socket.AF_INET6, "2001:db8::1"))


class NoAddress(Exception):
    """No interface has an address to advertise."""


def advertise_address(given: str, bind: str) -> str:
    """As upstream's DefaultAdvertiseAddress: what was given, else the bind address, else the default route's."""
    from ipaddress import ip_address  # costs milliseconds, and help does without

    if given and not ip_address(given).is_unspecified:
        return given
    bound = ip_address(bind)
    if not bound.is_unspecified and not bound.is_loopback:
        return bind
    found = _default_route(prefer_ipv6=bound.version == 6)
    if found is not None:
        return found
    if bound.is_loopback:
        return bind  # A machine without a network still serves itself.
    raise NoAddress(
        "Unable to find suitable network address. "
        "Try to set the AdvertiseAddress directly or provide a valid BindAddress to fix this: no default route"
    )


def _default_route(*, prefer_ipv6: bool) -> str | None:
    for family, address in reversed(_ELSEWHERE) if prefer_ipv6 else _ELSEWHERE:
        with socket.socket(family, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((address, 9))
            except OSError:
                continue
            return str(probe.getsockname()[0])
    return None
