"""LimitPodHardAntiAffinityTopology: a pod may keep others off its node, not off a whole zone."""

from __future__ import annotations

from kapi.admission.chain import Hook, validating
from kapi.admission.resources import PODS
from kapi.admission.services import Services
from kapi.api.errors import Forbidden
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_HOSTNAME = "kubernetes.io/hostname"


class LimitPodHardAntiAffinityTopology:
    name = "LimitPodHardAntiAffinityTopology"

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", "UPDATE", of=(PODS,)),)

    def validate(self, attributes: Attributes) -> None:
        pod = attributes.object or {}
        affinity = ((pod["spec"].get("affinity") or {}).get("podAntiAffinity")) or {}
        for term in affinity.get("requiredDuringSchedulingIgnoredDuringExecution") or ():
            key = term.get("topologyKey", "")
            if key != _HOSTNAME:
                raise Forbidden(
                    PODS,
                    pod["metadata"].get("name", ""),
                    f"affinity.PodAntiAffinity.RequiredDuringScheduling has TopologyKey {key} but only key {_HOSTNAME} "
                    "is allowed",
                )


def build(_: Services, __: Object | None) -> LimitPodHardAntiAffinityTopology:
    return LimitPodHardAntiAffinityTopology()
