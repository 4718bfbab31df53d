"""TaintNodesByCondition: a node that joins is not ready, until its controller has seen otherwise."""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating
from kapi.admission.resources import NODES
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition:
    name = "TaintNodesByCondition"

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", of=(NODES,)),)

    def mutate(self, attributes: Attributes) -> None:
        node = attributes.object or {}
        spec = node.setdefault("spec", {})
        taints = spec.setdefault("taints", [])
        if not any(all(taint.get(k) == v for k, v in _NOT_READY.items()) for taint in taints):
            taints.append(dict(_NOT_READY))


def build(_: Services, __: Object | None) -> TaintNodesByCondition:
    return TaintNodesByCondition()
