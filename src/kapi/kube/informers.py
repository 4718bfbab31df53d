"""The caches by which every request is judged: filled before the server says that it is ready, and not on demand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from kapi.api.gvk import GroupResource
from kapi.registry.store import Store
from kapi.server.health import Check
from kapi.server.hooks import HookContext, PostStart
from kapi.telemetry.log import log

_ADMISSION, _RBAC = "admissionregistration.k8s.io", "rbac.authorization.k8s.io"
ADMISSION = tuple(
    GroupResource(_ADMISSION, plural)
    for plural in (
        "mutatingwebhookconfigurations",
        "validatingwebhookconfigurations",
        "validatingadmissionpolicies",
        "validatingadmissionpolicybindings",
    )
)
SHARED = (
    GroupResource("", "namespaces"),
    *(GroupResource(_RBAC, plural) for plural in ("roles", "clusterroles", "rolebindings", "clusterrolebindings")),
)
_PATIENCE_SECONDS = 30.0


def fill(stores: Mapping[GroupResource, Store], resources: Iterable[GroupResource]) -> PostStart:
    """A hook that ends when all these caches have been filled."""

    async def run(context: HookContext) -> None:
        for resource in resources:
            cacher = stores[resource].objects.cacher
            while not await cacher.filled(_PATIENCE_SECONDS) and not context.stopped.is_set():
                log.warning("cache_not_filled", resource=resource.resource)

    return run


def informer_sync(stores: Mapping[GroupResource, Store]) -> Check:
    """Fails while a cache that somebody asked for has never been filled."""

    async def run() -> str | None:
        waiting = sorted(str(resource) for resource, store in stores.items() if store.objects.cacher.awaited)
        return f"{len(waiting)} caches are not filled yet: {waiting}" if waiting else None

    return Check(name="informer-sync", run=run, endpoints=("readyz",))
