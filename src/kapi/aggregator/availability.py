"""Availability: whether the service behind an APIService is there. As upstream's remote availability controller.

What answers at the service is only asked once requests are passed on to it.
"""

from __future__ import annotations

import asyncio

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.objects import Object
from kapi.telemetry.log import log

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
SLICES = "/apis/discovery.k8s.io/v1"
RECHECK_SECONDS = 1.0


class Availability:
    """Keeps the Available condition of APIServices that are not local."""

    def __init__(self, client: Client, clock: Clock) -> None:
        self._client = client
        self._clock = clock
        self._remote: dict[str, Object] = {}
        self._some = asyncio.Event()  # there is a remote one

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._follow())
            group.create_task(self._recheck())

    async def _follow(self) -> None:
        while True:
            try:
                async for event in self._client.watch(PATH):
                    await self._seen(event["type"], event["object"])
            except errors.APIError as error:
                log.warning("apiservice_availability_restarts", error=str(error))
                await asyncio.sleep(RECHECK_SECONDS)

    async def _seen(self, kind: str, service: Object) -> None:
        name = service.get("metadata", {}).get("name", "")
        if kind in ("ADDED", "MODIFIED") and service.get("spec", {}).get("service") is not None:
            self._remote[name] = service
            self._some.set()
            await self._check(service)
        else:
            self._remote.pop(name, None)
            if not self._remote:
                self._some.clear()

    async def _recheck(self) -> None:
        """Services and their endpoints come and go: while anything is remote, it is looked at again and again."""
        while True:
            await self._some.wait()
            await asyncio.sleep(RECHECK_SECONDS)
            for service in list(self._remote.values()):
                await self._check(service)

    async def _check(self, service: Object) -> None:
        reason, message = await self._problem(service["spec"]["service"])
        wanted = {"type": "Available", "status": "False", "reason": reason, "message": message}
        conditions = service.get("status", {}).get("conditions") or []
        if any({k: v for k, v in c.items() if k != "lastTransitionTime"} == wanted for c in conditions):
            return
        others = [c for c in conditions if c.get("type") != "Available"]
        wanted["lastTransitionTime"] = rfc3339(self._clock.now())
        changed = {**service, "status": {"conditions": [*others, wanted]}}
        try:
            await self._client.update(f"{PATH}/{service['metadata']['name']}/status", changed)
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
        path = f"{SLICES}/namespaces/{namespace}/endpointslices"
        slices = (await self._client.list(path, labelSelector=f"kubernetes.io/service-name={name}"))["items"]
        if not slices:
            return "EndpointsNotFound", f'cannot find endpointslices for service/{name} in "{namespace}"'
        if not any(e.get("addresses") for s in slices for e in s.get("endpoints") or ()):
            return "MissingEndpoints", f'endpointslices for service/{name} in "{namespace}" have no addresses'
        return "FailedDiscoveryCheck", "requests are not passed on to other servers yet"
