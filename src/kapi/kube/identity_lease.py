"""The Lease by which this server is known to be there, and the removal of those of servers that are gone."""

from __future__ import annotations

import asyncio
import socket

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock, rfc3339_micro
from kapi.api.names import label_value
from kapi.api.objects import Object
from kapi.api.times import parse_time
from kapi.api.uid import new_uid
from kapi.server.hooks import HookContext
from kapi.server.identity import api_server_id
from kapi.telemetry.log import log

_LEASES = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"
_COMPONENT = "apiserver.kubernetes.io/identity"
_SELF = "kube-apiserver"
# As upstream.
LEASE_SECONDS = 3600
_RENEW_SECONDS, _COLLECT_SECONDS, _RETRY_SECONDS = 10.0, 3600.0, 1.0


class IdentityLease:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._name = api_server_id()
        self._holder = f"{self._name}_{new_uid()}"

    async def start(self, context: HookContext) -> None:
        context.spawn(self._keep(context.client), name="identity-lease")

    async def collect(self, context: HookContext) -> None:
        context.spawn(self._collect_regularly(context.client), name="identity-lease-garbage-collector")

    async def _keep(self, client: Client) -> None:
        while True:
            try:
                await self._renew(client)
                await asyncio.sleep(_RENEW_SECONDS)
            except errors.APIError as error:
                log.debug(2, "identity_lease_not_renewed", error=error.message)
                await asyncio.sleep(_RETRY_SECONDS)

    async def _renew(self, client: Client) -> None:
        path = f"{_LEASES}/{self._name}"
        try:
            lease = await client.get(path)
        except errors.NotFound:
            await client.create(_LEASES, self._held({"metadata": {"name": self._name}}))
            return
        await client.update(path, self._held(lease))

    def _held(self, lease: Object) -> Object:
        metadata, host = lease["metadata"], socket.gethostname()
        labels = {**(metadata.get("labels") or {}), _COMPONENT: _SELF}
        if not label_value(host):  # a machine may be called what no label can say
            labels["kubernetes.io/hostname"] = host
        spec = {
            **(lease.get("spec") or {}),
            "holderIdentity": self._holder,
            "leaseDurationSeconds": LEASE_SECONDS,
            "renewTime": rfc3339_micro(self._clock.now()),
        }
        return {**lease, "metadata": {**metadata, "labels": labels}, "spec": spec}

    async def _collect_regularly(self, client: Client) -> None:
        while True:
            try:
                await self._collect(client)
            except errors.APIError as error:
                log.warning("identity_leases_not_collected", error=error.message)
            await asyncio.sleep(_COLLECT_SECONDS)

    async def _collect(self, client: Client) -> None:
        leases = await client.list(_LEASES, labelSelector=f"{_COMPONENT}={_SELF}")
        for lease in leases["items"]:
            if self._has_run_out(lease.get("spec") or {}):
                await _remove(client, lease["metadata"])

    def _has_run_out(self, spec: Object) -> bool:
        """As upstream: one that does not say until when it holds has run out."""
        renewed, seconds = spec.get("renewTime"), spec.get("leaseDurationSeconds")
        when = parse_time(renewed) if renewed else None
        return when is None or seconds is None or when.timestamp() + seconds < self._clock.now()


async def _remove(client: Client, metadata: Object) -> None:
    unchanged = {"uid": metadata["uid"], "resourceVersion": metadata["resourceVersion"]}
    try:
        await client.delete(f"{_LEASES}/{metadata['name']}", {"preconditions": unchanged})
    except (errors.NotFound, errors.Conflict):
        return  # another server was faster, or its holder is back
