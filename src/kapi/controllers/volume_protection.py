"""Protection of volumes, claims and attributes classes: the finalizer that holds them goes once nothing uses them."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kapi.admission.resources import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS
from kapi.api import errors
from kapi.api.client import Client
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.controllers import names
from kapi.controllers.context import Context
from kapi.controllers.informer import Change
from kapi.controllers.work_queue import WorkQueue

ATTRIBUTES_CLASSES = GroupResource("storage.k8s.io", "volumeattributesclasses")
_CLAIM, _VOLUME, _CLASS = (f"kubernetes.io/{kind}-protection" for kind in ("pvc", "pv", "vac"))
_CLASSES = "/apis/storage.k8s.io/v1/volumeattributesclasses"
_DELETED = b'"deletionTimestamp":"'


class _Deleted:
    """The objects of one resource that are being deleted: those whose use is worth asking for."""

    def __init__(self, context: Context, resource: GroupResource, queue: WorkQueue) -> None:
        self.waiting: set[str] = set()
        self._queue = queue
        context.informers.of(resource).listen(self._changed)

    def _changed(self, change: Change) -> None:
        if change.value is not None and _DELETED in change.value:
            self.waiting.add(change.path)
            self._queue.add(change.path)
        else:
            self.waiting.discard(change.path)

    def ask_again(self, namespace: str = "") -> None:
        """About those in a namespace, or about all."""
        for key in self.waiting:
            if not namespace or key.startswith(f"{namespace}/"):
                self._queue.add(key)


def start_claims(context: Context) -> list[WorkQueue]:
    client = context.client

    async def is_used(claim: Object) -> bool:
        metadata = claim["metadata"]
        pods = await client.list(f"/api/v1/namespaces/{metadata['namespace']}/pods")
        return any(_uses(pod, claim) for pod in pods["items"])

    async def reconcile(key: str) -> None:
        namespace, _, name = key.partition("/")
        path = f"/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}"
        await _release(client, path, _CLAIM, is_used)

    queue = WorkQueue(names.CLAIM_PROTECTION, reconcile)
    deleted = _Deleted(context, PERSISTENT_VOLUME_CLAIMS, queue)

    def pod_changed(change: Change) -> None:
        if deleted.waiting and change.value is None:
            deleted.ask_again(change.namespace)

    context.informers.of(PODS).listen(pod_changed, deleted.ask_again)
    return [queue]


def _uses(pod: Object, claim: Object) -> bool:
    """As upstream: no kubelet starts a pod with a claim that is being deleted, so only scheduled pods count."""
    spec, metadata = pod.get("spec") or {}, pod["metadata"]
    if not spec.get("nodeName"):
        return False
    name = claim["metadata"]["name"]
    for volume in spec.get("volumes") or ():
        if (volume.get("persistentVolumeClaim") or {}).get("claimName") == name:
            return True
        if "ephemeral" in volume and f"{metadata['name']}-{volume['name']}" == name:
            owners = claim["metadata"].get("ownerReferences") or ()
            return any(owner.get("controller") and owner.get("uid") == metadata["uid"] for owner in owners)
    return False


def start_volumes(context: Context) -> list[WorkQueue]:
    async def is_bound(volume: Object) -> bool:
        return (volume.get("status") or {}).get("phase") == "Bound"

    async def reconcile(name: str) -> None:
        await _release(context.client, f"/api/v1/persistentvolumes/{name}", _VOLUME, is_bound)

    queue = WorkQueue(names.VOLUME_PROTECTION, reconcile)
    _Deleted(context, PERSISTENT_VOLUMES, queue)
    return [queue]


def start_attributes_classes(context: Context) -> list[WorkQueue]:
    client = context.client

    async def is_used(found: Object) -> bool:
        name = found["metadata"]["name"]
        claims = (await client.list("/api/v1/persistentvolumeclaims"))["items"]
        if any(name in _classes_of(claim) for claim in claims):
            return True
        volumes = (await client.list("/api/v1/persistentvolumes"))["items"]
        return any((volume.get("spec") or {}).get("volumeAttributesClassName") == name for volume in volumes)

    async def reconcile(name: str) -> None:
        await _release(client, f"{_CLASSES}/{name}", _CLASS, is_used)

    queue = WorkQueue(names.ATTRIBUTES_CLASS_PROTECTION, reconcile)
    deleted = _Deleted(context, ATTRIBUTES_CLASSES, queue)
    for resource in (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES):
        context.informers.of(resource).listen(lambda _: deleted.ask_again())
    return [queue]


def _classes_of(claim: Object) -> tuple[str | None, ...]:
    status = claim.get("status") or {}
    return (
        (claim.get("spec") or {}).get("volumeAttributesClassName"),
        status.get("currentVolumeAttributesClassName"),
        (status.get("modifyVolumeStatus") or {}).get("targetVolumeAttributesClassName"),
    )


async def _release(client: Client, path: str, finalizer: str, is_used: Callable[[Object], Awaitable[bool]]) -> None:
    """Take the finalizer off what is being deleted and not in use."""
    try:
        found = await client.get(path)
        finalizers = found["metadata"].get("finalizers") or []
        if not found["metadata"].get("deletionTimestamp") or finalizer not in finalizers or await is_used(found):
            return
        found["metadata"]["finalizers"] = [f for f in finalizers if f != finalizer]
        await client.update(path, found)
    except errors.NotFound:
        return
