"""ResourceQuota: a namespace uses no more than its quotas allow.

Use is charged before an object is stored, by compare-and-swap on the quota's status: of many writers at once, on this
server or on others, no more succeed than fit. The writers of a namespace that wait at the same time are charged
together, with one write per quota.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass, field

from kapi.admission.chain import Hook, validating
from kapi.admission.configuration import ConfigurationError, check_kind
from kapi.admission.lookup import Lookup
from kapi.admission.quota.amounts import Amounts
from kapi.admission.quota.check import Limited, Quota, check
from kapi.admission.quota.counted import IGNORED, evaluators
from kapi.admission.quota.evaluators import Evaluator, Evaluators
from kapi.admission.resources import (
    NAMESPACES,
    PERSISTENT_VOLUME_CLAIMS,
    PODS,
    RESOURCE_CLAIMS,
    RESOURCE_QUOTAS,
    SERVICES,
)
from kapi.admission.services import Services
from kapi.api.clock import Clock, rfc3339
from kapi.api.errors import APIError, Conflict
from kapi.api.objects import Object
from kapi.patch.apply.update import track_update
from kapi.registry.attributes import Attributes
from kapi.registry.lifecycle import OPTIMISTIC_LOCK
from kapi.storage import kv
from kapi.storage.cacher.entry import Entry
from kapi.storage.objects import Decision, Write

_MANAGER = "kube-apiserver"
_TRIES = 10
_KINDS = {
    "ResourceQuotaConfiguration": ("apiserver.config.k8s.io/v1",),
    "Configuration": ("resourcequota.admission.k8s.io/v1beta1", "resourcequota.admission.k8s.io/v1alpha1"),
}


class _Stale(Exception):
    """The quota is no longer what the charge was reckoned from."""


@dataclass(slots=True, eq=False)
class _Ticket:
    """A write that waits to be charged."""

    attributes: Attributes
    evaluator: Evaluator
    settled: bool = False
    refusal: APIError | None = None

    def settle(self, refusal: APIError | None = None) -> None:
        self.settled, self.refusal = True, refusal


@dataclass(slots=True)
class _Queue:
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    waiting: list[_Ticket] = field(default_factory=list)


class ResourceQuota:
    name = "ResourceQuota"

    def __init__(self, lookup: Lookup, clock: Clock, evaluators: Evaluators, limited: Limited) -> None:
        self._lookup = lookup
        self._clock = clock
        self._evaluators = evaluators
        self._limited = limited
        self._queues: dict[str, _Queue] = {}

    def hooks(self) -> tuple[Hook, ...]:
        changing = (PODS, SERVICES, PERSISTENT_VOLUME_CLAIMS, RESOURCE_CLAIMS)
        return (
            validating(self.validate, "CREATE"),
            validating(self.validate, "UPDATE", of=changing),
            validating(self.validate, "UPDATE", of=(PODS,), at=("resize",)),
            validating(self.validate, "UPDATE", of=(PERSISTENT_VOLUME_CLAIMS,), at=("status",)),
        )

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        namespace = attributes.namespace
        if not namespace:
            return None
        quotas = self._lookup.listed(RESOURCE_QUOTAS, namespace)
        if quotas is not None and not quotas and not self._limited:
            return None
        resource = attributes.resource.group_resource
        if resource in IGNORED or resource == NAMESPACES:
            return None
        evaluator = self._evaluators.of(resource)
        return self._charge(_Ticket(attributes, evaluator)) if evaluator.handles(attributes) else None

    async def _charge(self, ticket: _Ticket) -> None:
        namespace = ticket.attributes.namespace
        queue = self._queues.setdefault(namespace, _Queue())
        queue.waiting.append(ticket)
        try:
            async with queue.lock:
                if not ticket.settled:
                    batch, queue.waiting = queue.waiting, []
                    try:
                        await self._settle(namespace, batch)
                    finally:
                        queue.waiting[:0] = [t for t in batch if not t.settled]
        finally:
            if ticket in queue.waiting:
                queue.waiting.remove(ticket)
            if not queue.waiting and not queue.lock.locked():
                self._queues.pop(namespace, None)
        if ticket.refusal is not None:
            raise ticket.refusal

    async def _settle(self, namespace: str, batch: Sequence[_Ticket]) -> None:
        quotas = [Quota.of(entry) for entry in await self._lookup.list(RESOURCE_QUOTAS, namespace)]
        pending = batch
        for _ in range(_TRIES):
            used = {quota.name: quota.used for quota in quotas}
            pending = [ticket for ticket in pending if self._fits(ticket, quotas, used)]
            changed = [quota for quota in quotas if used[quota.name] is not quota.used]
            stale = [quota for quota in changed if not await self._write(namespace, quota, used[quota.name])]
            if not stale:
                for ticket in pending:
                    ticket.settle()
                return
            quotas = await self._newest(namespace, stale)
        for ticket in pending:
            ticket.settle(Conflict(RESOURCE_QUOTAS, quotas[0].name if quotas else "", OPTIMISTIC_LOCK))

    def _fits(self, ticket: _Ticket, quotas: Sequence[Quota], used: dict[str, Amounts]) -> bool:
        """Whether the write is to be charged; those refused, or free of charge, are settled."""
        try:
            after = check(quotas, used, ticket.attributes, ticket.evaluator, self._limited)
        except APIError as refusal:
            ticket.settle(refusal)
            return False
        if not after or ticket.attributes.options.dry_run:
            ticket.settle()
            return False
        used.update(after)
        return True

    async def _newest(self, namespace: str, stale: Sequence[Quota]) -> list[Quota]:
        """As they are now; one that was deleted meanwhile limits nothing."""
        store = self._lookup.stores[RESOURCE_QUOTAS]
        found = [await store.objects.get(store.key(namespace, quota.name), None) for quota in stale]
        return [Quota.of(entry) for entry in found if entry is not None]

    async def _write(self, namespace: str, quota: Quota, used: Amounts) -> bool:
        """Whether the quota was still what it was, and now is charged."""
        store = self._lookup.stores[RESOURCE_QUOTAS]
        status = store.resource.subresources["status"].strategy

        async def change(entry: Entry | None) -> Decision:
            if entry is None or entry.revision != quota.revision:
                raise _Stale
            new = entry.object
            new.setdefault("status", {})["used"] = {name: str(used[name]) for name in sorted(used)}
            track_update(
                entry.object,
                new,
                store.resource.schema,
                manager=_MANAGER,
                api_version="v1",
                now=rfc3339(self._clock.now()),
                subresource="status",
                reset=status.reset,
            )
            return Write(store.objects.encode(new))

        try:
            await store.objects.update(store.key(namespace, quota.name), change)
        except (_Stale, kv.NotFound):
            return False
        return True


def build(services: Services, configuration: Object | None) -> ResourceQuota:
    limited: Sequence[Object] = ()
    if configuration is not None:
        kind = configuration.get("kind") or ""
        check_kind(configuration, kind, _KINDS.get(kind, ()))
        limited = configuration.get("limitedResources") or ()
        for i, item in enumerate(limited):
            if not item.get("resource"):
                raise ConfigurationError(f"limitedResources[{i}].resource: Required value")
    counting = evaluators(services.pod_resources, services.clock)
    return ResourceQuota(services.lookup, services.clock, counting, Limited(limited))
