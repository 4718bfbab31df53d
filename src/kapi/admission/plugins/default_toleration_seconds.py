"""DefaultTolerationSeconds: a pod stays for a while on a node that is lost, unless it says for how long."""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating
from kapi.admission.resources import PODS
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


class DefaultTolerationSeconds:
    name = "DefaultTolerationSeconds"

    def __init__(self, not_ready: int = 300, unreachable: int = 300) -> None:
        self._tolerations = [
            {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds}
            for key, seconds in zip(_TAINTS, (not_ready, unreachable), strict=True)
        ]

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", "UPDATE", of=(PODS,)),)

    def mutate(self, attributes: Attributes) -> None:
        spec = (attributes.object or {})["spec"]
        tolerations = spec.get("tolerations")
        if not tolerations:
            spec["tolerations"] = [added.copy() for added in self._tolerations]
            return
        tolerated = {t.get("key") or "" for t in tolerations if t.get("effect") in (None, "", "NoExecute")}
        if "" not in tolerated:
            missing = [added.copy() for added in self._tolerations if added["key"] not in tolerated]
            spec["tolerations"] = tolerations + missing


def build(services: Services, _: Object | None) -> DefaultTolerationSeconds:
    return DefaultTolerationSeconds(services.not_ready_seconds, services.unreachable_seconds)
