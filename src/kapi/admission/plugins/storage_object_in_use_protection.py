"""StorageObjectInUseProtection: volumes, claims and attribute classes stay until nothing uses them.

The finalizer that says so is put on when they are created; the controllers that know take it off.
"""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_FINALIZERS = {
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection:
    name = "StorageObjectInUseProtection"

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", of=_FINALIZERS),)

    def mutate(self, attributes: Attributes) -> None:
        finalizer = _FINALIZERS[attributes.resource.group_resource]
        finalizers = (attributes.object or {})["metadata"].setdefault("finalizers", [])
        if finalizer not in finalizers:
            finalizers.append(finalizer)


def build(_: Services, __: Object | None) -> StorageObjectInUseProtection:
    return StorageObjectInUseProtection()
