"""Availability: whether the service behind an APIService is there. As upstream's remote availability controller.

The services and endpoints are looked at when the APIService changes and every so often; what answers there is only
asked once requests are passed on to it.
"""

from __future__ import annotations

import asyncio

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.objects import Object
from kapi.telemetry.log import log

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
RECHECK_SECONDS = 30.0


class Availability:
    """Keeps the Available condition of APIServices that are not local."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            try:
                async with asyncio.timeout(RECHECK_SECONDS):
                    await self._follow()
            except TimeoutError:
                continue
            except errors.APIError as error:
                log.warning("apiservice_availability_restarts", error=str(error))
                await asyncio.sleep(1.0)

    async def _follow(self) -> None:
        async for event in self._client.watch(PATH):
            if event["type"] in ("ADDED", "MODIFIED"):
                await self._check(event["object"])

    async def _check(self, service: Object) -> None:
        reference = service.get("spec", {}).get("service")
        if reference is None:
            return
        reason, message = await self._problem(reference)
        wanted = {"type": "Available", "status": "False", "reason": reason, "message": message}
        conditions = service.get("status", {}).get("conditions") or []
        if any({k: v for k, v in c.items() if k != "lastTransitionTime"} == wanted for c in conditions):
            return
        others = [c for c in conditions if c.get("type") != "Available"]
        wanted["lastTransitionTime"] = rfc3339(self._clock.now())
        service["status"] = {"conditions": [*others, wanted]}
        try:
            await self._client.update(f"{PATH}/{service['metadata']['name']}/status", service)
        except (errors.Conflict, errors.NotFound):
            return  # the newer state comes by as an event of its own

    async def _problem(self, reference: Object) -> tuple[str, str]:
        """Why the service cannot be reached, as a condition's reason and message."""
        namespace, name = reference.get("namespace", ""), reference.get("name", "")
        port = reference.get("port", 443)
        try:
            found = await self._client.get(f"/api/v1/namespaces/{namespace}/services/{name}")
        except errors.NotFound:
            return "ServiceNotFound", f'service/{name} in "{namespace}" is not present'
        if not any(p.get("port") == port for p in found["spec"].get("ports") or ()):
            return "ServicePortError", f'service/{name} in "{namespace}" is not listening on port {port}'
        try:
            endpoints = await self._client.get(f"/api/v1/namespaces/{namespace}/endpoints/{name}")
        except errors.NotFound:
            return "EndpointsNotFound", f'cannot find endpoints for service/{name} in "{namespace}"'
        if not any(subset.get("addresses") for subset in endpoints.get("subsets") or ()):
            return "MissingEndpoints", f'endpoints for service/{name} in "{namespace}" have no addresses'
        return "FailedDiscoveryCheck", "requests are not passed on to other servers yet"
