"""NodeDeclaredFeatureValidator: a pod on a node is changed only in ways that the node says it can follow."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from kapi.admission.chain import Hook, validating
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.refusal import forbidden
from kapi.admission.resources import NODES, PODS
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.registry.attributes import Attributes


def _resizes_pod(new: Object, old: Object) -> bool:
    """The resources of the pod as a whole, not those of one container."""
    return _amounts(new.get("resources")) != _amounts(old.get("resources"))


def _amounts(resources: Object | None) -> Object | None:
    if resources is None:
        return None
    kinds = ("requests", "limits")
    return {kind: {name: Quantity.parse(text) for name, text in (resources.get(kind) or {}).items()} for kind in kinds}


def _resizes_init_containers(new: Object, old: Object) -> bool:
    containers = zip(new.get("initContainers") or (), old.get("initContainers") or (), strict=False)
    return any(o.get("restartPolicy") != "Always" and n.get("resources") != o.get("resources") for n, o in containers)


def _resizes_memory_volumes(new: Object, old: Object) -> bool:
    volumes, former = new.get("volumes") or (), old.get("volumes") or ()
    if len(volumes) != len(former):
        return False
    for volume, before in zip(volumes, former, strict=True):
        directory, was = volume.get("emptyDir") or {}, before.get("emptyDir") or {}
        if volume["name"] != before["name"] or directory.get("medium") != "Memory":
            continue
        limit, limited = directory.get("sizeLimit"), was.get("sizeLimit")
        if limit is not None and limited is not None and Quantity.parse(limit) != Quantity.parse(limited):
            return True
    return False


# What a change needs, by the name that nodes declare it by; in the order of the names.
_NEEDED: Final[Mapping[str, Callable[[Object, Object], bool]]] = {
    "InPlacePodLevelResourcesVerticalScaling": _resizes_pod,
    "InPlacePodVerticalScalingInitContainers": _resizes_init_containers,
    "InPlacePodVerticalScalingMemoryBackedVolumes": _resizes_memory_volumes,
}


class NodeDeclaredFeatureValidator:
    name = "NodeDeclaredFeatureValidator"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "UPDATE", of=(PODS,), at=("", "resize")),)

    async def validate(self, attributes: Attributes) -> None:
        pod, old = attributes.object, attributes.old_object
        name = pod["spec"].get("nodeName") if pod is not None else None
        if pod is None or old is None or not name:
            return
        if pod["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        needed = [feature for feature, needs in _NEEDED.items() if needs(pod["spec"], old["spec"])]
        if not needed:
            return
        entry = await self._lookup.get(NODES, "", name)
        if entry is None:
            raise forbidden(attributes, f'node "{name}" not found')
        declared = (decoded(entry).get("status") or {}).get("declaredFeatures") or ()
        missing = [feature for feature in needed if feature not in declared]
        if missing:
            why = f'pod update requires features {", ".join(missing)} which are not available on node "{name}"'
            raise forbidden(attributes, why)


def build(services: Services, _: Object | None) -> NodeDeclaredFeatureValidator:
    return NodeDeclaredFeatureValidator(services.lookup)
