"""ExtendedResourceToleration: nodes with rare resources are tainted with their names; who asks for one tolerates it."""

from __future__ import annotations

from collections.abc import Callable

from kapi.admission.chain import Hook, mutating
from kapi.admission.resources import PODS
from kapi.admission.services import Services
from kapi.admission.tolerations import add_toleration
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes


class ExtendedResourceToleration:
    name = "ExtendedResourceToleration"

    def __init__(self, is_extended: Callable[[str], bool]) -> None:
        self._is_extended = is_extended

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", "UPDATE", of=(PODS,)),)

    def mutate(self, attributes: Attributes) -> None:
        spec = (attributes.object or {})["spec"]
        wanted = {
            name
            for kind in ("containers", "initContainers")
            for container in spec.get(kind) or ()
            for name in (container.get("resources") or {}).get("requests") or ()
            if self._is_extended(name)
        }
        for name in sorted(wanted):
            add_toleration(spec, {"key": name, "operator": "Exists", "effect": "NoSchedule"})


def build(services: Services, _: Object | None) -> ExtendedResourceToleration:
    return ExtendedResourceToleration(services.pod_resources.is_extended)
