"""The ServiceCIDR `kubernetes`: the ranges of --service-cluster-ip-range, as an object.

It is created, made dual-stack when the flag is, and said to be ready. One that differs is somebody's will: it stays.
"""

from __future__ import annotations

import asyncio

from kapi.api import errors
from kapi.api.client import APPLY_PATCH, Client
from kapi.api.clock import Clock, rfc3339
from kapi.api.objects import Object
from kapi.server.hooks import HookContext
from kapi.telemetry.log import log

NAME = "kubernetes"
_PATH = "/apis/networking.k8s.io/v1/servicecidrs"
_MANAGER = "kubernetes-service-cidr-controller"
_INTERVAL, _RETRY = 10.0, 0.1


class DefaultServiceCIDR:
    """`there` is set when services can be given addresses."""

    def __init__(self, cidrs: tuple[str, ...], clock: Clock) -> None:
        self.there = asyncio.Event()
        self._cidrs = list(cidrs)
        self._clock = clock
        self._told = ""

    async def start(self, context: HookContext) -> None:
        if not await self._tried(context.client):
            await self._retry(context.client)
        self.there.set()
        context.spawn(self._keep(context.client), name=_MANAGER)

    async def _retry(self, client: Client) -> None:
        while True:
            await asyncio.sleep(_RETRY)
            if await self._tried(client):
                return

    async def _keep(self, client: Client) -> None:
        while True:
            await asyncio.sleep(_INTERVAL)
            await self._tried(client)

    async def _tried(self, client: Client) -> bool:
        try:
            await self.sync(client)
        except errors.APIError as error:
            self._tell("default_service_cidr_failed", error=error.message)
            return False
        return True

    async def sync(self, client: Client) -> None:
        try:
            found = await client.get(f"{_PATH}/{NAME}")
        except errors.NotFound:
            found = await self._create(client)
        cidrs = found["spec"].get("cidrs") or []
        if len(self._cidrs) == 2 and cidrs == self._cidrs[:1]:
            await client.update(f"{_PATH}/{NAME}", {**found, "spec": {"cidrs": self._cidrs}})
            return
        if found["metadata"].get("deletionTimestamp"):
            return
        if cidrs != self._cidrs:
            self._tell("default_service_cidr_differs", configured=self._cidrs, stored=cidrs)
            return
        await self._make_ready(client, found)

    async def _create(self, client: Client) -> Object:
        wanted = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": NAME},
            "spec": {"cidrs": self._cidrs},
        }
        try:
            return await client.create(_PATH, wanted)
        except errors.AlreadyExists:
            # Another server on the same store was faster.
            return await client.get(f"{_PATH}/{NAME}")

    async def _make_ready(self, client: Client, found: Object) -> None:
        conditions = (found.get("status") or {}).get("conditions") or ()
        status = next((c.get("status") for c in conditions if c.get("type") == "Ready"), "Unknown")
        if status == "False":
            self._tell("default_service_cidr_not_ready")
        if status != "Unknown":
            return
        ready = {
            "type": "Ready",
            "status": "True",
            "message": "Kubernetes default Service CIDR is ready",
            "lastTransitionTime": rfc3339(self._clock.now()),
        }
        applied = {
            "apiVersion": "networking.k8s.io/v1",
            "kind": "ServiceCIDR",
            "metadata": {"name": NAME},
            "status": {"conditions": [ready]},
        }
        path = f"{_PATH}/{NAME}/status"
        await client.patch(path, applied, APPLY_PATCH, fieldManager=_MANAGER, force="true")

    def _tell(self, event: str, **fields: object) -> None:
        """Once, until something else is wrong."""
        if event != self._told:
            self._told = event
            log.warning(event, **fields)
