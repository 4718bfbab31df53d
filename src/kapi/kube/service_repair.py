"""Repair: what services say they have against what is marked as taken, every few minutes.

A crash between taking and storing leaks an address or a port; this finds them. Nothing young is judged: its service may
be on its way.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from datetime import datetime

from kapi.api import errors
from kapi.api.addresses import IP, parse_ip
from kapi.api.client import Client
from kapi.api.clock import Clock
from kapi.api.objects import Object
from kapi.kube.service_addresses import FAMILY, MANAGED_BY, MANAGER, PATH, ClusterIPs, ip_address
from kapi.kube.service_ports import NodePorts
from kapi.registry.store import Store
from kapi.resources.core.service_rules import cluster_ips, is_headless, needs_cluster_ip, node_ports
from kapi.server.hooks import HookContext
from kapi.storage import kv
from kapi.storage.objects import Query
from kapi.telemetry.log import log

INTERVAL = 180.0
GRACE = 60.0  # as long as a request may take
_LEAK_ROUNDS = 3  # so often a port is found leaked before it is free again


class AddressRepair:
    """Every address of a service has its IPAddress, and every IPAddress of the allocator its service."""

    def __init__(self, client: Client, services: Store, addresses: Store, ips: ClusterIPs, clock: Clock) -> None:
        self._client = client
        self._services = services
        self._addresses = addresses
        self._ips = ips
        self._clock = clock

    async def run_once(self) -> None:
        # In this order, what comes or goes meanwhile is never taken for a leak that must be filled.
        addresses = await _by_key(self._addresses)
        services = await _by_key(self._services)
        ranges = await self._ips.ranges()
        for service in services.values():
            if not needs_cluster_ip(service) or is_headless(service):
                continue
            for text in cluster_ips(service):
                ip = parse_ip(text)
                if ip is None or not any(r.holds(ip) for r in ranges):
                    log.warning("cluster_ip_out_of_range", ip=text, service=_key(service))
                    continue
                await self._check_service(service, ip, addresses.get(str(ip)), services)
        for address in addresses.values():
            await self._check_address(address, services)

    async def _check_service(
        self, service: Object, ip: IP, address: Object | None, services: Mapping[str, Object]
    ) -> None:
        if address is None:
            log.warning("cluster_ip_not_allocated", ip=str(ip), service=_key(service))
            await self._create(service, ip)
            return
        owner = _owner(address)
        labels = address["metadata"].get("labels") or {}
        right_labels = labels.get(FAMILY) == ip.family and labels.get(MANAGED_BY) == MANAGER
        if owner == _key(service) and right_labels:
            return
        other = services.get(owner) if owner != _key(service) else None
        if other is not None and str(ip) in _canonical_ips(other):
            log.warning("cluster_ip_taken_twice", ip=str(ip), services=[_key(service), owner])
            return
        log.warning("cluster_ip_marked_wrongly", ip=str(ip), service=_key(service), owner=owner)
        await self._delete(address)
        await self._create(service, ip)

    async def _check_address(self, address: Object, services: Mapping[str, Object]) -> None:
        if (address["metadata"].get("labels") or {}).get(MANAGED_BY) != MANAGER:
            return
        service = services.get(_owner(address))
        if service is not None and address["metadata"]["name"] in _canonical_ips(service):
            return
        created = datetime.fromisoformat(address["metadata"]["creationTimestamp"]).timestamp()
        if self._clock.now() - created > GRACE:
            log.warning("cluster_ip_leaked", ip=address["metadata"]["name"], owner=_owner(address))
            await self._delete(address)

    async def _create(self, service: Object, ip: IP) -> None:
        metadata = service["metadata"]
        try:
            await self._client.create(PATH, ip_address(ip, metadata["namespace"], metadata["name"]))
        except errors.AlreadyExists:
            # Another server repairs as well.
            return

    async def _delete(self, address: Object) -> None:
        metadata = address["metadata"]
        same = {"preconditions": {"uid": metadata["uid"]}}
        try:
            await self._client.delete(f"{PATH}/{metadata['name']}", same)
        except (errors.NotFound, errors.Conflict):
            # It has gone, or is another one by now.
            return


class PortRepair:
    """Every node port of a service is marked as taken, and no other one for long."""

    def __init__(self, services: Store, ports: NodePorts) -> None:
        self._services = services
        self._ports = ports
        self._leaks: dict[int, int] = {}

    async def run_once(self) -> None:
        ports = self._ports
        stored = await ports.taken()
        services = await _by_key(self._services)
        used = ports.bits(port for service in services.values() for port in _all_ports(service))
        missing = used & ~stored
        for port in ports.numbers(missing):
            log.warning("node_port_not_allocated", port=port)
        leaked = ports.numbers(stored & ~used)
        self._leaks = {port: self._leaks.get(port, 0) + 1 for port in leaked}
        gone = [port for port, rounds in self._leaks.items() if rounds > _LEAK_ROUNDS]
        for port in gone:
            log.warning("node_port_leaked", port=port)
        if missing or gone:
            await ports.change(lambda taken: (taken | used) & ~ports.bits(gone))


class ServiceRepair:
    """Both, once before the server is ready and every few minutes from then on."""

    def __init__(self, addresses: AddressRepair, ports: PortRepair, ranges_there: asyncio.Event) -> None:
        self._addresses = addresses
        self._ports = ports
        self._ranges_there = ranges_there

    async def start(self, context: HookContext) -> None:
        await self._ranges_there.wait()
        await self._run_once()
        context.spawn(self._repeat(), name="service-repair")

    async def _repeat(self) -> None:
        while True:
            await asyncio.sleep(INTERVAL)
            await self._run_once()

    async def _run_once(self) -> None:
        try:
            await self._addresses.run_once()
            await self._ports.run_once()
        except (errors.APIError, kv.StorageError) as error:
            log.warning("service_repair_failed", error=str(error))


async def _by_key(store: Store) -> dict[str, Object]:
    listing = await store.list(Query(scope=store.scope("")))
    objects = (entry.object for entry in listing.entries)
    return {_key(found): found for found in objects}


def _key(found: Object) -> str:
    metadata = found["metadata"]
    return f"{metadata['namespace']}/{metadata['name']}" if metadata.get("namespace") else str(metadata["name"])


def _owner(address: Object) -> str:
    parent = address["spec"].get("parentRef") or {}
    if parent.get("group") or parent.get("resource") != "services":
        return ""
    return f"{parent.get('namespace', '')}/{parent.get('name', '')}"


def _canonical_ips(service: Object) -> set[str]:
    return {str(parse_ip(text)) for text in cluster_ips(service)}


def _all_ports(service: Object) -> list[int]:
    return [*node_ports(service), service["spec"].get("healthCheckNodePort", 0)]
