"""PodTopologyLabels: a pod carries the zone and the region of the node it runs on."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.admission.chain import Hook, mutating
from kapi.admission.lookup import Lookup
from kapi.admission.resources import NODES, PODS
from kapi.admission.services import Services
from kapi.api.names import path_segment
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

_COPIED = ("topology.kubernetes.io/zone", "topology.kubernetes.io/region")


class PodTopologyLabels:
    name = "PodTopologyLabels"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.on_pod, "CREATE", of=(PODS,)),
            mutating(self.on_binding, "CREATE", of=(PODS,), at=("binding",)),
        )

    def on_pod(self, attributes: Attributes) -> Awaitable[None] | None:
        pod = attributes.object or {}
        return self._label(pod, pod["spec"]["nodeName"]) if pod["spec"].get("nodeName") else None

    async def on_binding(self, attributes: Attributes) -> None:
        """The labels of a binding become the pod's."""
        binding = attributes.object or {}
        target = binding.get("target") or {}
        if target.get("kind") == "Node" and target.get("name"):
            await self._label(binding, target["name"])

    async def _label(self, holder: Object, node: str) -> None:
        # A name that no node can have is validation's to refuse.
        entry = None if path_segment(node) else await self._lookup.get(NODES, "", node)
        found = {} if entry is None else {key: entry.labels[key] for key in _COPIED if key in entry.labels}
        if found:
            metadata = holder.setdefault("metadata", {})
            metadata["labels"] = {**(metadata.get("labels") or {}), **found}


def build(services: Services, _: Object | None) -> PodTopologyLabels:
    return PodTopologyLabels(services.lookup)
