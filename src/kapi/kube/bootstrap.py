"""The objects that every cluster has: RBAC roles and bindings, flow control, system priority classes.

The law: on a fresh store they are stored as they ship, all at once, in a few group commits; on any other they are
compared, and only what must change is written, through the API.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path

import orjson

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import rfc3339
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.api.uid import new_uid
from kapi.kube.reconcile import (
    is_left_over,
    is_other_binding,
    reconciled_binding,
    reconciled_flow_control,
    reconciled_role,
)
from kapi.registry.store import Store
from kapi.server.hooks import HookContext
from kapi.server.server import GenericServer
from kapi.storage import kv
from kapi.storage.objects import Query
from kapi.telemetry.log import log

_RETRY = 0.5
_UPKEEP = 60.0
Reconcile = Callable[[Object, Object], Object | None]
_RECONCILE: Mapping[str, Reconcile] = {
    "clusterroles": reconciled_role,
    "roles": reconciled_role,
    "clusterrolebindings": reconciled_binding,
    "rolebindings": reconciled_binding,
    "flowschemas": reconciled_flow_control,
    "prioritylevelconfigurations": reconciled_flow_control,
    # What a priority class says cannot be changed: one that is there is right.
    "priorityclasses": lambda found, wanted: None,
}
# Users may delete what these bring back: as upstream, within a minute. Roles and classes wait for the next start.
_KEPT = frozenset(("flow_control",))
# Post-start hook → its data.
_HOOKS = {
    "rbac/bootstrap-roles": "rbac",
    "scheduling/bootstrap-system-priority-classes": "priority_classes",
    "priority-and-fairness-config-producer": "flow_control",
}


def install_bootstrap(server: GenericServer, stores: Mapping[GroupResource, Store]) -> None:
    for hook, name in _HOOKS.items():
        server.add_post_start_hook(hook, Bootstrap(name, stores).run)


class Bootstrap:
    """One hook's objects, brought into the store."""

    def __init__(self, name: str, stores: Mapping[GroupResource, Store]) -> None:
        self._name = name
        self._stores = stores

    async def run(self, context: HookContext) -> None:
        data = Path(__file__).parent / "data" / f"{self._name}.json"
        wanted: dict[str, list[Object]] = orjson.loads(data.read_bytes())
        while not await self._ensure_all(wanted, context.client):
            if context.stopped.is_set():
                return
            await asyncio.sleep(_RETRY)
        if self._name in _KEPT:
            context.spawn(self._keep(wanted, context.client), name=f"{self._name}-upkeep")

    async def _keep(self, wanted: dict[str, list[Object]], client: Client) -> None:
        while True:
            await asyncio.sleep(_UPKEEP)
            await self._ensure_all(wanted, client)

    async def _ensure_all(self, wanted: dict[str, list[Object]], client: Client) -> bool:
        """Whether all are now as they should be."""
        try:
            await asyncio.gather(*(self._ensure(key, objects, client) for key, objects in wanted.items()))
        except (kv.StorageError, errors.APIError) as error:
            log.warning("bootstrap_failed", objects=self._name, error=str(error))
            return False
        return True

    async def _ensure(self, key: str, wanted: list[Object], client: Client) -> None:
        plural, _, group = key.partition(".")
        store = self._stores[GroupResource(group, plural)]
        listing = await store.list(Query(scope=store.scope("")))
        found = {entry.key: entry for entry in listing.entries}
        keys = [store.key(o["metadata"].get("namespace", ""), o["metadata"]["name"]) for o in wanted]
        pairs = list(zip(keys, wanted, strict=True))
        await asyncio.gather(*(_create(store, k, new) for k, new in pairs if k not in found))
        for k, new in pairs:
            if k in found:
                await _reconcile(store, client, found[k].object, new)
        for k in found.keys() - set(keys):
            if is_left_over(found[k].object):
                await client.delete(_path(store, found[k].object))


async def _create(store: Store, key: str, wanted: Object) -> None:
    now = rfc3339(store.clock.now())
    metadata = {**wanted["metadata"], "uid": new_uid(), "creationTimestamp": now}
    metadata["managedFields"] = [{**entry, "time": now} for entry in metadata["managedFields"]]
    new = {**wanted, "metadata": metadata}
    conditions = (wanted.get("status") or {}).get("conditions")
    if conditions:
        new["status"] = {"conditions": [{**condition, "lastTransitionTime": now} for condition in conditions]}
    try:
        await store.objects.create(key, store.objects.encode(new))
    except kv.KeyExists:
        # Another server on the same store was faster.
        return


async def _reconcile(store: Store, client: Client, found: Object, wanted: Object) -> None:
    path = _path(store, found)
    if found["kind"].endswith("Binding") and is_other_binding(found, wanted):
        await client.delete(path)
        await client.create(path.rpartition("/")[0], {**wanted, "metadata": _named(wanted)})
        return
    new = _RECONCILE[store.resource.names.plural](found, wanted)
    if new is not None:
        await client.update(path, new)


def _named(wanted: Object) -> Object:
    return {key: value for key, value in wanted["metadata"].items() if key != "managedFields"}


def _path(store: Store, found: Object) -> str:
    metadata, resource = found["metadata"], store.resource
    scope = f"namespaces/{metadata['namespace']}/" if metadata.get("namespace") else ""
    return f"/apis/{resource.group}/{resource.version}/{scope}{resource.names.plural}/{metadata['name']}"
