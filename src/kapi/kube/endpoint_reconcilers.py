"""Who keeps the endpoints of the service `kubernetes`: --endpoint-reconciler-type.

lease: every server renews a key that ends by itself, and the endpoints are the keys that are there. master-count: every
server adds itself, and as many stay as there are said to be. none: nobody here.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Protocol

from kapi.api import errors
from kapi.api.addresses import is_ipv6
from kapi.api.client import Client
from kapi.api.objects import Object
from kapi.storage import kv
from kapi.storage.cacher.entry import Entry, Shape
from kapi.storage.objects import Decision, ObjectStore, Query, Write

LEASE_PREFIX, LEASE_SECONDS = "masterleases", 15
LEASE_SHAPE = Shape(kind="Endpoints", api_version="v1", fields_of=lambda _: {})
_ENDPOINTS = "/api/v1/namespaces/default/endpoints"
_SLICES = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices"
_NAME = "kubernetes"
_SKIP_MIRROR = "endpointslice.kubernetes.io/skip-mirror"
_TRIES = 5


class Reconciler(Protocol):
    async def reconcile(self) -> None:
        """See to it that this server is among the endpoints."""

    async def remove(self) -> None:
        """Take this server out."""


class Leases:
    """The addresses of the servers that are alive: a key each, which ends when it is not renewed."""

    def __init__(self, store: ObjectStore) -> None:
        self._store = store

    async def addresses(self) -> list[str]:
        listing = await self._store.list(Query(scope=self._store.prefix))
        found = []
        for entry in listing.entries:
            for subset in entry.object.get("subsets") or ():
                found += [address["ip"] for address in subset.get("addresses") or () if address.get("ip")]
        return sorted(found)

    async def renew(self, ip: str) -> None:
        async def write(current: Entry | None) -> Decision:
            generation = current.object["metadata"].get("generation", 0) if current is not None else 0
            lease = {"metadata": {"generation": generation + 1}, "subsets": [{"addresses": [{"ip": ip}]}]}
            return Write(self._store.encode(lease))

        await self._store.update(self._store.prefix + ip, write, create=True)

    async def end(self, ip: str) -> None:
        try:
            await self._store.delete(self._store.prefix + ip, lambda _: None)
        except kv.NotFound:
            return


class OwnEndpoints:
    """The Endpoints `kubernetes` and the EndpointSlice beside it."""

    def __init__(self, client: Client, port: Callable[[], int]) -> None:
        self._client = client
        self._port = port

    @property
    def _ports(self) -> list[Object]:
        return [{"name": "https", "port": self._port(), "protocol": "TCP"}]

    async def get(self) -> Object | None:
        try:
            return await self._client.get(f"{_ENDPOINTS}/{_NAME}")
        except errors.NotFound:
            return None

    async def write(self, found: Object | None, addresses: Sequence[str]) -> None:
        """Store those addresses, if they are not there already."""
        labels = {**((found or {}).get("metadata", {}).get("labels") or {}), _SKIP_MIRROR: "true"}
        subset = {"addresses": [{"ip": ip} for ip in addresses], "ports": self._ports}
        subsets = [subset] if addresses else []
        if found is None:
            wanted: Object = {"apiVersion": "v1", "kind": "Endpoints", "metadata": {"name": _NAME, "labels": labels}}
            try:
                await self._client.create(_ENDPOINTS, {**wanted, "subsets": subsets})
            except errors.AlreadyExists:
                return
        elif addresses_of(found) != list(addresses) or found["metadata"].get("labels") != labels:
            wanted = {**found, "metadata": {**found["metadata"], "labels": labels}, "subsets": subsets}
            await self._client.update(f"{_ENDPOINTS}/{_NAME}", wanted)
        await self._write_slice(addresses)

    async def _write_slice(self, addresses: Sequence[str]) -> None:
        family = "IPv6" if addresses and all(map(is_ipv6, addresses)) else "IPv4"
        of_family = [ip for ip in addresses if is_ipv6(ip) == (family == "IPv6")]
        wanted: Object = {
            "apiVersion": "discovery.k8s.io/v1",
            "kind": "EndpointSlice",
            "metadata": {"name": _NAME, "labels": {"kubernetes.io/service-name": _NAME}},
            "addressType": family,
            "endpoints": [{"addresses": [ip], "conditions": {"ready": True}} for ip in of_family],
            "ports": self._ports if addresses else [],
        }
        try:
            found = await self._client.get(f"{_SLICES}/{_NAME}")
        except errors.NotFound:
            await self._client.create(_SLICES, wanted)
            return
        if found.get("addressType") != family:
            await self._client.delete(f"{_SLICES}/{_NAME}")
            await self._client.create(_SLICES, wanted)
        elif any((found.get(field) or []) != wanted[field] for field in ("endpoints", "ports")):
            wanted["metadata"]["resourceVersion"] = found["metadata"]["resourceVersion"]
            await self._client.update(f"{_SLICES}/{_NAME}", wanted)


def addresses_of(endpoints: Object) -> list[str] | None:
    """None when they are not as they are written here: all in one subset."""
    subsets = endpoints.get("subsets") or []
    if len(subsets) > 1:
        return None
    return [address["ip"] for subset in subsets for address in subset.get("addresses") or ()]


class LeaseReconciler:
    def __init__(self, leases: Leases, endpoints: OwnEndpoints, ip: str) -> None:
        self._leases = leases
        self._endpoints = endpoints
        self._ip = ip

    async def reconcile(self) -> None:
        await self._leases.renew(self._ip)
        found = await self._endpoints.get()
        # Our own was renewed just now: a list without it would be wrong, and must not empty the endpoints.
        addresses = await self._leases.addresses() or [self._ip]
        await self._endpoints.write(found, addresses)

    async def remove(self) -> None:
        await self._leases.end(self._ip)
        await _retried(self._without)

    async def _without(self) -> None:
        found = await self._endpoints.get()
        if found is not None:
            await self._endpoints.write(found, await self._leases.addresses())


class CountReconciler:
    """`count` servers keep the endpoints; who came first in the order of addresses after one's own has to go."""

    def __init__(self, count: int, endpoints: OwnEndpoints, ip: str) -> None:
        self._count = count
        self._endpoints = endpoints
        self._ip = ip

    async def reconcile(self) -> None:
        found = await self._endpoints.get()
        present = (addresses_of(found) if found is not None else None) or []
        addresses = sorted({*present, self._ip})
        while len(addresses) > self._count:
            addresses.pop((addresses.index(self._ip) + 1) % len(addresses))
        await self._endpoints.write(found, addresses)

    async def remove(self) -> None:
        await _retried(self._without)

    async def _without(self) -> None:
        found = await self._endpoints.get()
        if found is not None:
            await self._endpoints.write(found, [ip for ip in addresses_of(found) or () if ip != self._ip])


async def _retried(change: Callable[[], Awaitable[None]]) -> None:
    """Several servers may write the endpoints at once."""
    for left in reversed(range(_TRIES)):
        try:
            return await change()
        except errors.Conflict:
            if not left:
                raise
