"""StorageObjectInUseProtection: volumes, claims and attribute classes stay until nothing uses them.

The finalizer that says so is put on when they are created; the controllers that know take it off.
"""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating, validating
from kapi.registry.attributes import Attributes, Operation

_FINALIZERS = {
    ("", "persistentvolumes"): "kubernetes.io/pv-protection",
    ("", "persistentvolumeclaims"): "kubernetes.io/pvc-protection",
    ("storage.k8s.io", "volumeattributesclasses"): "kubernetes.io/vac-protection",
}


class StorageObjectInUseProtection:
    name = "StorageObjectInUseProtection"
    operations: frozenset[Operation] = frozenset(("CREATE",))

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, *self.operations, at=None),
            validating(self.validate, *self.operations, at=None),
        )

    async def mutate(self, attributes: Attributes) -> None:
        finalizer = _FINALIZERS.get(attributes.resource.group_resource)
        if finalizer is None or attributes.subresource or attributes.object is None:
            return
        finalizers = attributes.object["metadata"].setdefault("finalizers", [])
        if finalizer not in finalizers:
            finalizers.append(finalizer)

    async def validate(self, attributes: Attributes) -> None:
        """Nothing to refuse."""
