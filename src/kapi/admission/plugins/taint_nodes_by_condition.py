"""TaintNodesByCondition: a node that joins is not ready, until its controller has seen otherwise."""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating, validating
from kapi.registry.attributes import Attributes, Operation

_NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


class TaintNodesByCondition:
    name = "TaintNodesByCondition"
    operations: frozenset[Operation] = frozenset(("CREATE",))

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, *self.operations, at=None),
            validating(self.validate, *self.operations, at=None),
        )

    async def mutate(self, attributes: Attributes) -> None:
        node = attributes.object
        if attributes.resource.group_resource != ("", "nodes") or attributes.subresource or node is None:
            return
        spec = node.setdefault("spec", {})
        taints = spec.setdefault("taints", [])
        if not any(all(taint.get(k) == v for k, v in _NOT_READY.items()) for taint in taints):
            taints.append(dict(_NOT_READY))

    async def validate(self, attributes: Attributes) -> None:
        """Nothing to refuse."""
