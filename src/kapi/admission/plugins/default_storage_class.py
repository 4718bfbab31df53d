"""DefaultStorageClass: a claim that names no class gets the default one."""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating
from kapi.admission.default_class import default_class
from kapi.admission.lookup import Lookup
from kapi.admission.resources import PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

OLD_CLASS = "volume.beta.kubernetes.io/storage-class"
_DEFAULT = ("storageclass.kubernetes.io/is-default-class", "storageclass.beta.kubernetes.io/is-default-class")


class DefaultStorageClass:
    name = "DefaultStorageClass"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", of=(PERSISTENT_VOLUME_CLAIMS,)),)

    async def mutate(self, attributes: Attributes) -> None:
        claim = attributes.object or {}
        if OLD_CLASS in (claim["metadata"].get("annotations") or ()):
            return
        spec = claim.setdefault("spec", {})
        if spec.get("storageClassName") is not None:
            return
        found = default_class(await self._lookup.list(STORAGE_CLASSES), _DEFAULT)
        if found is not None:
            spec["storageClassName"] = found


def build(services: Services, _: Object | None) -> DefaultStorageClass:
    return DefaultStorageClass(services.lookup)
