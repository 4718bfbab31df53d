"""What belongs to which node: its pods, what they refer to, and what is attached to it.

Pods are followed, so that what a node's pods refer to is at hand; volumes and the like are looked at when asked for.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping

from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.authz.pod_references import Reference, references, volume_secrets
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.follower import Follower

PODS, CLAIMS, VOLUMES = (GroupResource("", r) for r in ("pods", "persistentvolumeclaims", "persistentvolumes"))
LOOKED_AT = (
    PODS,
    CLAIMS,
    VOLUMES,
    GroupResource("storage.k8s.io", "volumeattachments"),
    GroupResource("resource.k8s.io", "resourceslices"),
    GroupResource("certificates.k8s.io", "podcertificaterequests"),
)
FILL_SECONDS = 5.0
_SLICE = 200  # pods that are read before others get a turn


class NodeGraph:
    """Usable once it is bound to the caches of the resources it looks at."""

    def __init__(self) -> None:
        self._caches: Mapping[GroupResource, Cacher] = {}
        self._filling = asyncio.Lock()
        self._filled = self._sound = False
        self._follower: Follower | None = None
        self._node_of: dict[str, str] = {}  # by the pod's key
        self._by_node: dict[str, dict[str, frozenset[Reference]]] = {}

    def bind(self, caches: Mapping[GroupResource, Cacher]) -> None:
        self._caches = caches

    async def fill(self) -> None:
        """kv.StorageError when a cache cannot be filled in time."""
        if not self._filled:
            async with self._filling:
                while not self._filled:
                    await self._fill()

    async def _fill(self) -> None:
        for cacher in self._caches.values():
            await cacher.started(FILL_SECONDS)
        if self._follower is not None:
            self._follower.stop()
        self._node_of.clear()
        self._by_node.clear()
        self._sound = True
        pods = self._caches.get(PODS)
        if pods is not None:
            self._follower = Follower(pods, self._pod_changed, self._lost)
            for number, entry in enumerate(pods.select(pods.prefix), 1):
                if pods.get(entry.key) is entry:
                    self._pod_changed(entry.key, entry)
                if number % _SLICE == 0:
                    await asyncio.sleep(0)
        self._filled = self._sound

    def _lost(self) -> None:
        self._filled = self._sound = False

    def _pod_changed(self, key: str, entry: Entry | None) -> None:
        former = self._node_of.pop(key, "")
        if former:
            pods = self._by_node[former]
            pods.pop(key)
            if not pods:
                del self._by_node[former]
        pod = entry.object if entry is not None else None
        node = (pod.get("spec") or {}).get("nodeName") if pod is not None else None
        if pod is not None and node:
            self._node_of[key] = node
            self._by_node.setdefault(node, {})[key] = references(pod)

    # Asking

    def related(self, node: str, resource: str, namespace: str, name: str) -> bool:
        """Whether the node has to do with this object."""
        if resource == "persistentvolumes":
            return self._uses_volume(node, self._get(VOLUMES, name))
        if resource in ("volumeattachments", "resourceslices", "podcertificaterequests"):
            return self._names_node(node, resource, namespace, name)
        reference = (resource, namespace, name)
        if any(reference in found for found in self._by_node.get(node, {}).values()):
            return True
        return resource == "secrets" and self._through_volume(node, namespace, name)

    def _get(self, resource: GroupResource, name: str, namespace: str = "") -> Object | None:
        cacher = self._caches.get(resource)
        if cacher is None:
            return None
        entry = cacher.get(f"{cacher.prefix}{namespace}/{name}" if namespace else cacher.prefix + name)
        return None if entry is None else entry.object

    def _uses_volume(self, node: str, volume: Object | None) -> bool:
        """Whether a pod of the node uses the claim that the volume is bound to."""
        claim = ((volume or {}).get("spec") or {}).get("claimRef")
        if not claim:
            return False
        reference = ("persistentvolumeclaims", claim.get("namespace", ""), claim.get("name", ""))
        return any(reference in found for found in self._by_node.get(node, {}).values())

    def _names_node(self, node: str, resource: str, namespace: str, name: str) -> bool:
        for group in ("storage.k8s.io", "resource.k8s.io", "certificates.k8s.io"):
            found = self._get(GroupResource(group, resource), name, namespace)
            if found is not None:
                return bool((found.get("spec") or {}).get("nodeName") == node)
        return False

    def _through_volume(self, node: str, namespace: str, name: str) -> bool:
        """Secrets that the volumes behind the pods' claims need."""
        claims = {r for found in self._by_node.get(node, {}).values() for r in found if r[0] == CLAIMS.resource}
        for _, claim_namespace, claim_name in claims:
            claim = self._get(CLAIMS, claim_name, claim_namespace)
            volume = self._get(VOLUMES, ((claim or {}).get("spec") or {}).get("volumeName") or "")
            if volume is None or not self._uses_volume(node, volume):
                continue
            if (namespace, name) in _volume_secrets(volume["spec"], claim_namespace):
                return True
        return False


def _volume_secrets(spec: Object, claim_namespace: str) -> set[tuple[str, str]]:
    """The secrets that a kubelet needs to mount a persistent volume, with their namespaces."""
    found = {(claim_namespace, name) for name in volume_secrets(spec) if name}
    references = [
        *((spec.get(kind) or {}).get("secretRef") for kind in ("cephfs", "flexVolume", "rbd", "scaleIO", "iscsi")),
        *(
            (spec.get("csi") or {}).get(f)
            for f in ("nodePublishSecretRef", "nodeStageSecretRef", "nodeExpandSecretRef")
        ),
    ]
    found |= {(r.get("namespace") or claim_namespace, r["name"]) for r in references if r and r.get("name")}
    azure = spec.get("azureFile") or {}
    if azure.get("secretNamespace"):
        found.add((azure["secretNamespace"], azure.get("secretName", "")))
    return found
