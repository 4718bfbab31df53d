"""Where a service of the cluster can be reached from here: at its cluster IP, or at one of its endpoints."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.registry.store import Store
from kapi.storage.objects import Query
from kapi.wire.client import Address, CallError

_SERVICES = GroupResource("", "services")
_SLICES = GroupResource("discovery.k8s.io", "endpointslices")
_SERVICE_NAME = "kubernetes.io/service-name"


class ServiceResolver:
    """As upstream: by cluster IP; by endpoint with `--enable-aggregator-routing`. Bound once there are stores."""

    def __init__(self, *, by_endpoint: bool) -> None:
        self._by_endpoint = by_endpoint
        self._stores: Mapping[GroupResource, Store] = {}

    def bind(self, stores: Mapping[GroupResource, Store]) -> None:
        self._stores = stores

    async def __call__(self, namespace: str, name: str, port: int) -> Address:
        """Raises CallError."""
        store = self._stores[_SERVICES]
        entry = await store.objects.get(store.key(namespace, name), None)
        if entry is None:
            raise CallError(f'service "{name}" not found')
        spec = entry.object["spec"]
        if spec.get("type") == "ExternalName":
            if self._by_endpoint:
                raise CallError('unsupported service type "ExternalName"')
            return spec["externalName"], port
        address = spec.get("clusterIP") or "None"
        if address == "None" and not self._by_endpoint:
            raise CallError('cannot route to service with ClusterIP "None"')
        served = next((p for p in spec.get("ports") or () if p["port"] == port), None)
        if served is None:
            raise CallError(f'no service port {port} found for service "{name}"')
        if self._by_endpoint:
            return await self._endpoint(namespace, name, served)
        return address, port

    async def _endpoint(self, namespace: str, name: str, port: Object) -> Address:
        store = self._stores[_SLICES]
        query = Query(scope=store.scope(namespace), selects=lambda e: e.labels.get(_SERVICE_NAME) == name)
        found = [address for entry in (await store.list(query)).entries for address in _ready(entry.object, port)]
        if not found:
            raise CallError(f'no endpoints available for service "{name}"')
        return random.choice(found)


def _ready(piece: Object, port: Object) -> list[Address]:
    """The addresses of a slice that answer on a service's port; the port goes by its name."""
    number: Any = next(
        (p.get("port") for p in piece.get("ports") or () if (p.get("name") or "") == port.get("name", "")), None
    )
    if number is None:
        return []
    endpoints = [e for e in piece.get("endpoints") or () if (e.get("conditions") or {}).get("ready") is not False]
    return [(address, number) for endpoint in endpoints for address in endpoint.get("addresses") or ()]
