"""Availability: whether the service behind an APIService is there. As upstream's availability controllers.

What answers at the service is only asked once requests are passed on to it.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress

from kapi.aggregator.apiservices import LOCAL
from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.objects import Object
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.follower import Follower
from kapi.telemetry.log import log

PATH = "/apis/apiregistration.k8s.io/v1/apiservices"
SLICES = "/apis/discovery.k8s.io/v1"
RECHECK_SECONDS = 1.0


class Availability:
    """Keeps the Available condition of APIServices. Local ones are born with it, and get it once they turn local."""

    def __init__(self, cacher: Cacher, client: Client, clock: Clock) -> None:
        self._cacher = cacher
        self._client = client
        self._clock = clock
        self._watched: set[str] = set()  # the keys of those that need a look now and then
        self._some = asyncio.Event()

    def start(self) -> None:
        """The cache is filled."""
        Follower(self._cacher, self._seen, self._look_at_all)
        self._look_at_all()

    def _look_at_all(self) -> None:
        self._watched.clear()
        for entry in self._cacher.select(self._cacher.prefix):
            self._seen(entry.key, entry)

    def _seen(self, key: str, entry: Entry | None) -> None:
        if entry is not None and not _is_settled(entry.object):
            self._watched.add(key)
            self._some.set()
        else:
            self._watched.discard(key)

    async def run(self) -> None:
        """Services and their endpoints come and go: while anything is remote, it is looked at again and again."""
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(RECHECK_SECONDS if self._watched else None):
                    await self._some.wait()
            self._some.clear()
            for entry in [entry for key in self._watched if (entry := self._cacher.get(key)) is not None]:
                await self._check(entry.object)

    async def _check(self, service: Object) -> None:
        name = service["metadata"]["name"]
        try:
            wanted = await self._condition(service["spec"].get("service"))
            conditions = service.get("status", {}).get("conditions") or []
            if any(_untimed(condition) == wanted for condition in conditions):
                return
            others = [c for c in conditions if c.get("type") != "Available"]
            wanted["lastTransitionTime"] = rfc3339(self._clock.now())
            changed = {**service, "status": {"conditions": [*others, wanted]}}
            await self._client.update(f"{PATH}/{name}/status", changed)
        except (errors.Conflict, errors.NotFound):
            return  # the newer state comes by as an event of its own
        except errors.APIError as error:
            log.warning("apiservice_availability_failed", name=name, error=str(error))

    async def _condition(self, reference: Object | None) -> Object:
        if reference is None:
            return {**LOCAL}
        reason, message = await self._problem(reference)
        return {"type": "Available", "status": "False", "reason": reason, "message": message}

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


def _untimed(condition: Object) -> Object:
    return {key: value for key, value in condition.items() if key != "lastTransitionTime"}


def _is_settled(service: Object) -> bool:
    """Local, and it says so."""
    if service["spec"].get("service") is not None:
        return False
    return any(_untimed(c) == LOCAL for c in service.get("status", {}).get("conditions") or ())
