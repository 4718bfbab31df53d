"""Where services get their addresses and ports from, and how this server shows up as the service `kubernetes`."""

from __future__ import annotations

from dataclasses import dataclass

from kapi.api.addresses import CIDR, parse_cidr


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceNetwork:
    ranges: tuple[str, ...] = ("10.0.0.0/24",)  # --service-cluster-ip-range; the first one's family is the default
    node_ports: range = range(30000, 32768)  # --service-node-port-range
    api_server_ip: str = "10.0.0.1"  # of the service `kubernetes`
    advertise_address: str = "127.0.0.1"
    port: int = 6443  # where advertise_address is served; 0: whichever the listener has got
    node_port: int = 0  # --kubernetes-service-node-port
    reconciler: str = "lease"  # --endpoint-reconciler-type
    servers: int = 1  # --apiserver-count

    @property
    def families(self) -> tuple[str, ...]:
        return tuple(cidr.family for cidr in self.cidrs)

    @property
    def cidrs(self) -> tuple[CIDR, ...]:
        return tuple(cidr for text in self.ranges if (cidr := parse_cidr(text)) is not None)


class AllocationError(Exception):
    """An address or port cannot be had; the message says why, in upstream's words."""


class Taken(AllocationError):
    """Someone else has it."""


class Full(AllocationError):
    def __init__(self) -> None:
        super().__init__("range is full")


def static_band(size: int, *, step: int, most: int) -> int:
    """How many of the first in a range are left for those who ask for a certain one, as long as there are others.

    As upstream (KEP-3070, KEP-3668): at least 16, a share of the range, at most so many.
    """
    return 0 if size <= 16 else min(max(16, size // step), most)
