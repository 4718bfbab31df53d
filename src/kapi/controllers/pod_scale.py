"""How many pods there should be: the sum of what the controllers of some pods are scaled to."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.objects import Object
from kapi.controllers.resources import Resources

_APPS = ("apps", "extensions")


class UnknownScale(Exception):
    """Why it cannot be told, in upstream's words."""


class Scales:
    """Asked anew for each budget: each controller is looked up once."""

    def __init__(self, client: Client, resources: Resources, namespace: str) -> None:
        self._client = client
        self._resources = resources
        self._namespace = namespace
        self._known: dict[str, int] = {}  # by the controller's uid

    async def total(self, controllers: Iterable[tuple[str, Object | None]]) -> int:
        """Of the pods' names and their controllers. Pods without one count for nothing; raises UnknownScale."""
        seen: set[str] = set()
        for pod, controller in controllers:
            if controller is None or controller["uid"] in seen:
                continue
            seen.add(controller["uid"])
            found = await self._find(controller)
            if found is None:
                raise UnknownScale(f'found no controllers for pod "{pod}"')
            uid, replicas = found
            self._known[uid] = replicas
        return sum(self._known.values())

    async def _find(self, controller: Object) -> tuple[str, int] | None:
        group = controller.get("apiVersion", "").rpartition("/")[0]
        if controller.get("kind") == "ReplicaSet" and group in _APPS:
            found = await self._replica_set(controller)
            if found is not None:
                return found
        return await self._scale(controller)

    async def _replica_set(self, controller: Object) -> tuple[str, int] | None:
        """That of its deployment, if it has one: while it rolls out there are two replica sets."""
        replica_set = await self._get(f"/apis/apps/v1/namespaces/{self._namespace}/replicasets/{controller['name']}")
        if replica_set is None or replica_set["metadata"]["uid"] != controller["uid"]:
            return None
        own = controller_of(replica_set["metadata"])
        if own is None or own.get("kind") != "Deployment":
            return controller["uid"], replica_set["spec"].get("replicas", 0)
        deployment = await self._get(f"/apis/apps/v1/namespaces/{self._namespace}/deployments/{own['name']}")
        if deployment is None or deployment["metadata"]["uid"] != own["uid"]:
            return None
        return own["uid"], deployment["spec"].get("replicas", 0)

    async def _scale(self, controller: Object) -> tuple[str, int] | None:
        served = self._resources.of_kind(controller.get("apiVersion", ""), controller.get("kind", ""))
        if served is None:
            version, kind = controller.get("apiVersion", ""), controller.get("kind", "")
            raise UnknownScale(f'no matches for kind "{kind}" in version "{version}"')
        if "scale" not in served.subresources:
            raise UnknownScale(f"{served.group_resource} does not implement the scale subresource")
        scale = await self._get(f"{served.path(self._namespace, controller['name'])}/scale")
        if scale is None or scale["metadata"].get("uid") != controller["uid"]:
            return None
        return controller["uid"], (scale.get("spec") or {}).get("replicas", 0)

    async def _get(self, path: str) -> Object | None:
        try:
            return await self._client.get(path)
        except errors.NotFound:
            return None


def controller_of(metadata: Object) -> Object | None:
    for owner in metadata.get("ownerReferences") or ():
        if owner.get("controller"):
            found: Object = owner
            return found
    return None
