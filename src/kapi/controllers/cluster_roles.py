"""Cluster role aggregation: a ClusterRole with an aggregation rule has the rules of all roles that it selects."""

from __future__ import annotations

from kapi.api import errors
from kapi.api.client import APPLY_PATCH, Client
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.api.selectors import selector_from_object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.work_queue import WorkQueue

CLUSTER_ROLES = GroupResource("rbac.authorization.k8s.io", "clusterroles")
_PATH = "/apis/rbac.authorization.k8s.io/v1/clusterroles"
_AGGREGATED = b'"aggregationRule":{'


def start(context: Context) -> list[WorkQueue]:
    client = context.client
    aggregated: set[str] = set()

    async def reconcile(name: str) -> None:
        await context.informers.listed.wait()
        await _aggregate(client, name)

    queue = WorkQueue(names.CLUSTER_ROLES, reconcile)

    def changed(change: Change) -> None:
        """Any role may be selected by any of those that aggregate."""
        if change.value is not None and _AGGREGATED in change.value:
            aggregated.add(change.name)
        else:
            aggregated.discard(change.name)
        for name in aggregated:
            queue.add(name)

    context.informers.of(CLUSTER_ROLES).listen(changed)
    return [queue]


async def _aggregate(client: Client, name: str) -> None:
    try:
        role = await client.get(f"{_PATH}/{name}")
    except errors.NotFound:
        return
    selectors = (role.get("aggregationRule") or {}).get("clusterRoleSelectors") or ()
    if not selectors:
        return
    roles = (await client.list(_PATH))["items"]
    rules: list[Object] = []
    for selector in selectors:
        selected = selector_from_object(selector)
        for other in sorted(roles, key=lambda r: str(r["metadata"]["name"])):
            if other["metadata"]["name"] == name or not selected.matches(other["metadata"].get("labels") or {}):
                continue
            rules += [rule for rule in other.get("rules") or () if rule not in rules]
    if rules != (role.get("rules") or []):
        await _apply(client, name, rules)


async def _apply(client: Client, name: str, rules: list[Object]) -> None:
    """As upstream: it owns the rules, whoever wrote others."""
    patch = {
        "apiVersion": "rbac.authorization.k8s.io/v1",
        "kind": "ClusterRole",
        "metadata": {"name": name},
        "rules": rules,
    }
    await client.patch(f"{_PATH}/{name}", patch, APPLY_PATCH, fieldManager=names.CLUSTER_ROLES, force="true")
