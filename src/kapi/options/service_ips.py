"""The ranges that services' addresses come from, and the API server's own address in them."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from ipaddress import IPv4Network, IPv6Network

    IPNetwork = IPv4Network | IPv6Network

DEFAULT_RANGE = "10.0.0.0/24"
_SMALLEST = 8
_FLAG = "--service-cluster-ip-range"


class ServiceIPs(NamedTuple):
    primary: IPNetwork
    secondary: IPNetwork | None
    api_server: str  # the first address of the primary range: the kubernetes service's


def service_ips(text: str) -> ServiceIPs:
    """The ranges of a --service-cluster-ip-range without problems."""
    from ipaddress import ip_network  # costs milliseconds, and help does without

    ranges = [ip_network(part.strip(), strict=False) for part in (text or DEFAULT_RANGE).split(",")]
    return ServiceIPs(ranges[0], ranges[1] if len(ranges) > 1 else None, str(ranges[0][1]))


def service_ip_problems(text: str) -> list[str]:
    """What is wrong with the ranges, in upstream's words."""
    from ipaddress import ip_network  # as above

    problems: list[str] = []
    ranges: list[IPNetwork] = []
    parts = (text or DEFAULT_RANGE).split(",")
    if len(parts) > 2:
        problems.append(f"{_FLAG} must not contain more than two entries")
    for index, part in enumerate(parts[:2]):
        try:
            if "/" not in part:
                raise ValueError
            ranges.append(ip_network(part.strip(), strict=False))
        except ValueError:
            problems.append(f"{_FLAG}[{index}] is not a valid cidr")
    if len(ranges) != len(parts):
        return problems
    if ranges[0].num_addresses < _SMALLEST:
        problems.append(f"the service cluster IP range must be at least {_SMALLEST} IP addresses")
    if len(ranges) == 2 and ranges[0].version == ranges[1].version:
        problems.append(f"{_FLAG}[0] and {_FLAG}[1] must be of different IP family")
    return problems
