"""Cluster addresses: every one that is taken is an IPAddress object that names its service.

Creating the object is the lock: of two servers only one can. The ranges are the ServiceCIDR objects, so that they can
be added to while servers run.
"""

from __future__ import annotations

import random
from typing import NamedTuple

from kapi.api import errors
from kapi.api.addresses import CIDR, IP, IPV4, ip_text, parse_cidr
from kapi.api.client import Client
from kapi.api.objects import Object
from kapi.kube.service_network import AllocationError, Full, Taken, static_band
from kapi.registry.store import Store
from kapi.registry.translate import storage_errors
from kapi.storage.objects import FILL_SECONDS, Query
from kapi.telemetry.log import log

PATH = "/apis/networking.k8s.io/v1/ipaddresses"
MANAGED_BY, MANAGER = "ipaddress.kubernetes.io/managed-by", "ipallocator.k8s.io"
FAMILY = "ipaddress.kubernetes.io/ip-family"
_SHORTEST_IPV6 = 64  # a longer range of addresses than any cluster can use


class Range(NamedTuple):
    """The addresses of a ServiceCIDR that services can have: not the network's own, nor IPv4's broadcast."""

    cidr: CIDR
    ready: bool

    @property
    def first(self) -> int:
        return self.cidr.first + 1

    @property
    def last(self) -> int:
        return self.cidr.last - (self.cidr.family == IPV4)

    def holds(self, ip: IP) -> bool:
        return ip.family == self.cidr.family and self.first <= ip.value <= self.last


def ranges_of(service_cidr: Object) -> list[Range]:
    """One that is being deleted, or said not to be ready, gives no addresses any more."""
    conditions = (service_cidr.get("status") or {}).get("conditions") or ()
    ready = all(c.get("status") == "True" for c in conditions if c.get("type") == "Ready")
    ready = ready and not service_cidr["metadata"].get("deletionTimestamp")
    cidrs = (parse_cidr(text) for text in service_cidr["spec"].get("cidrs") or ())
    return [Range(c, ready) for c in cidrs if c and (c.family == IPV4 or c.bits >= _SHORTEST_IPV6)]


def ip_address(ip: IP, namespace: str, name: str) -> Object:
    """The object that marks an address as a service's."""
    return {
        "apiVersion": "networking.k8s.io/v1",
        "kind": "IPAddress",
        "metadata": {"name": str(ip), "labels": {FAMILY: ip.family, MANAGED_BY: MANAGER}},
        "spec": {"parentRef": {"resource": "services", "namespace": namespace, "name": name}},
    }


class ClusterIPs:
    def __init__(self, client: Client, service_cidrs: Store, ip_addresses: Store) -> None:
        self._client = client
        self._cidrs = service_cidrs
        self._addresses = ip_addresses.objects
        self._resource = ip_addresses.resource.group_resource

    async def ranges(self) -> list[Range]:
        listing = await self._cidrs.list(Query(scope=self._cidrs.scope("")))
        return [found for entry in listing.entries for found in ranges_of(entry.object)]

    async def take(self, service: Object, ip: IP) -> None:
        if not any(r.ready and r.holds(ip) for r in await self.ranges()):
            raise AllocationError("the provided network does not match the current range")
        await self._create(service, ip)

    async def take_any(self, service: Object, family: str) -> IP:
        """A free address; the first ones of a range only when all others are taken."""
        with storage_errors(self._resource):
            await self._addresses.cacher.started(FILL_SECONDS)
        for found in await self.ranges():
            if found.ready and found.cidr.family == family:
                band = found.first + static_band(found.cidr.size, step=16, most=256)
                for low, high in ((band, found.last), (found.first, band - 1)):
                    ip = await self._take_between(service, family, low, high)
                    if ip is not None:
                        return ip
        raise Full

    async def _take_between(self, service: Object, family: str, low: int, high: int) -> IP | None:
        if low > high:
            return None
        start = random.randint(low, high)
        for part in (range(start, high + 1), range(low, start)):
            for value in part:
                if self._addresses.cacher.get(self._addresses.prefix + ip_text(family, value)) is not None:
                    continue
                try:
                    await self._create(service, IP(family, value))
                except Taken:
                    # Another server was faster, and its address has not reached this cache.
                    continue
                return IP(family, value)
        return None

    async def try_out(self, family: str, ip: IP | None) -> str:
        """What a dry run shows. As upstream: nobody looks whether the address is free."""
        of_family = [r for r in await self.ranges() if r.cidr.family == family]
        if not any(r.ready for r in of_family):
            raise AllocationError("allocator not ready")
        if ip is None:
            return ip_text(family, of_family[0].cidr.first)
        if not any(r.holds(ip) for r in of_family):
            raise AllocationError(
                f"the provided IP ({ip}) is not in the valid range. The range of valid IPs is {of_family[0].cidr}"
            )
        return str(ip)

    async def give_back(self, ip: IP) -> None:
        """What cannot be given back now is found by the repair loop."""
        try:
            await self._client.delete(f"{PATH}/{ip}")
        except errors.NotFound:
            return
        except errors.APIError as error:
            log.warning("cluster_ip_not_released", ip=str(ip), error=error.message)

    async def _create(self, service: Object, ip: IP) -> None:
        metadata = service["metadata"]
        address = ip_address(ip, metadata.get("namespace", ""), metadata.get("name", ""))
        try:
            await self._client.create(PATH, address)
        except errors.AlreadyExists:
            raise Taken("provided IP is already allocated") from None
        except errors.APIError as error:
            raise AllocationError(error.message) from error
