"""PodGroupProtection: a pod group stays until no pod refers to it. Waits for the GenericWorkload feature."""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_POD_GROUPS = (("scheduling.k8s.io", "podgroups"),)
_FINALIZER = "scheduling.k8s.io/podgroup-protection"


class PodGroupProtection:
    name = "PodGroupProtection"

    def __init__(self, *, enabled: bool) -> None:
        self._enabled = enabled

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", of=_POD_GROUPS),) if self._enabled else ()

    def mutate(self, attributes: Attributes) -> None:
        finalizers = (attributes.object or {})["metadata"].setdefault("finalizers", [])
        if _FINALIZER not in finalizers:
            finalizers.append(_FINALIZER)


def build(services: Services, _: Object | None) -> PodGroupProtection:
    return PodGroupProtection(enabled=services.features.get("GenericWorkload", False))
