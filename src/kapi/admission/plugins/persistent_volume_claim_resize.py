"""PersistentVolumeClaimResize: a claim grows only where its class lets volumes grow."""

from __future__ import annotations

from kapi.admission.chain import Hook, validating
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.plugins.default_storage_class import OLD_CLASS
from kapi.admission.refusal import forbidden
from kapi.admission.resources import PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.registry.attributes import Attributes


class PersistentVolumeClaimResize:
    name = "PersistentVolumeClaimResize"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "UPDATE", of=(PERSISTENT_VOLUME_CLAIMS,)),)

    async def validate(self, attributes: Attributes) -> None:
        new, old = attributes.object or {}, attributes.old_object or {}
        if _size(new) <= _size(old):
            return
        if (old.get("status") or {}).get("phase") != "Bound":
            raise forbidden(attributes, "Only bound persistent volume claims can be expanded")
        if not await self._may_grow(class_of(new), class_of(old)):
            why = (
                "only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must "
                "support resize"
            )
            raise forbidden(attributes, why)

    async def _may_grow(self, name: str, former: str) -> bool:
        if not name or name != former:
            return False
        entry = await self._lookup.get(STORAGE_CLASSES, "", name)
        return entry is not None and bool(decoded(entry).get("allowVolumeExpansion"))


def _size(claim: Object) -> Quantity:
    requests = ((claim.get("spec") or {}).get("resources") or {}).get("requests") or {}
    return Quantity.parse(requests.get("storage") or "0")


def class_of(claim: Object) -> str:
    """As upstream: the old annotation counts before the field."""
    annotations = claim["metadata"].get("annotations") or {}
    if OLD_CLASS in annotations:
        return str(annotations[OLD_CLASS])
    return (claim.get("spec") or {}).get("storageClassName") or ""


def build(services: Services, _: Object | None) -> PersistentVolumeClaimResize:
    return PersistentVolumeClaimResize(services.lookup)
