"""Election: of several servers over one store, one runs the controllers. A Lease says which."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339_micro
from kapi.api.objects import Object
from kapi.telemetry.log import log

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
NAME = "kapi-in-process-controllers"
# As client-go's leader election.
LEASE_SECONDS, RENEW_SECONDS, RETRY_SECONDS = 15, 10.0, 2.0


class Election:
    def __init__(self, client: Client, clock: Clock, identity: str) -> None:
        self._client = client
        self._clock = clock
        self._identity = identity
        self._seen = ""  # the version of the Lease that was seen last, and when it was first
        self._seen_at = 0.0

    async def run(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Until cancelled: do the work whenever, and as long as, this server is the one."""
        while True:
            if not await self._acquire():
                await asyncio.sleep(RETRY_SECONDS)
                continue
            log.info("controllers_elected", identity=self._identity)
            working = asyncio.create_task(work())
            try:
                await self._hold(working)
            finally:
                working.cancel()
                await asyncio.gather(working, return_exceptions=True)
                await self._release()
            log.warning("controllers_no_longer_elected", identity=self._identity)

    async def _hold(self, working: asyncio.Task[None]) -> None:
        """Renew the Lease until that fails for too long; what the work raises is raised."""
        renewed = self._clock.monotonic()
        while self._clock.monotonic() - renewed < RENEW_SECONDS:
            await asyncio.wait((working,), timeout=RETRY_SECONDS)
            if working.done():
                working.result()
                return
            if await self._acquire():
                renewed = self._clock.monotonic()

    async def _acquire(self) -> bool:
        """Take or renew the Lease; whether this server has it now."""
        try:
            try:
                lease = await self._client.get(f"{_LEASES}/{NAME}")
            except errors.NotFound:
                lease = {"metadata": {"name": NAME}, "spec": self._spec({})}
                await self._client.create(_LEASES, lease)
                return True
            if not self._may_take(lease):
                return False
            lease["spec"] = self._spec(lease.get("spec") or {})
            await self._client.update(f"{_LEASES}/{NAME}", lease)
        except errors.APIError as error:
            log.debug(2, "controllers_not_elected", error=error.message)
            return False
        return True

    async def _release(self) -> None:
        """The next one need not wait until the Lease has run out."""
        try:
            lease = await self._client.get(f"{_LEASES}/{NAME}")
            if lease["spec"].get("holderIdentity") == self._identity:
                lease["spec"] = {**self._spec(lease["spec"]), "holderIdentity": "", "leaseDurationSeconds": 1}
                await self._client.update(f"{_LEASES}/{NAME}", lease)
        except errors.APIError as error:
            log.debug(2, "controllers_not_released", error=error.message)

    def _may_take(self, lease: Object) -> bool:
        """As client-go: not the other's clock counts, but how long nothing was heard of it."""
        version = lease["metadata"]["resourceVersion"]
        if version != self._seen:
            self._seen, self._seen_at = version, self._clock.monotonic()
        spec = lease.get("spec") or {}
        holder = spec.get("holderIdentity")
        if not holder or holder == self._identity:
            return True
        patience: int = spec.get("leaseDurationSeconds", LEASE_SECONDS)
        return self._clock.monotonic() - self._seen_at > patience

    def _spec(self, former: Object) -> Object:
        now = rfc3339_micro(self._clock.now())
        own = former.get("holderIdentity") == self._identity
        return {
            "holderIdentity": self._identity,
            "leaseDurationSeconds": LEASE_SECONDS,
            "acquireTime": former.get("acquireTime", now) if own else now,
            "renewTime": now,
            "leaseTransitions": former.get("leaseTransitions", 0) + (0 if own or not former else 1),
        }
