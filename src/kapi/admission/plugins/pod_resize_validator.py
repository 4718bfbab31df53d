"""PodResizeValidator: a running pod is given no more than its node has."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from kapi.admission.chain import Hook, validating
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.refusal import forbidden
from kapi.admission.resources import NODES, PODS
from kapi.admission.services import Services
from kapi.api.errors import Forbidden
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.registry.attributes import Attributes


class PodResizeValidator:
    """`requests` sums up what a pod's spec requests."""

    name = "PodResizeValidator"

    def __init__(self, lookup: Lookup, requests: Callable[[Object], Mapping[str, Quantity]]) -> None:
        self._lookup = lookup
        self._requests = requests

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "UPDATE", of=(PODS,), at=("resize",)),)

    async def validate(self, attributes: Attributes) -> None:
        pod, old = attributes.object, attributes.old_object
        name = pod["spec"].get("nodeName") if pod is not None else None
        if pod is None or old is None or not name:
            return
        if pod["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        entry = await self._lookup.get(NODES, "", name)
        if entry is None:
            raise forbidden(attributes, f'node "{name}" not found')
        node = decoded(entry)
        system = (node["metadata"].get("labels") or {}).get("kubernetes.io/os", "linux")
        if system != "linux":
            why = f'pod resize is only supported on linux nodes, node "{name}" is "{system}"'
            raise _refused(attributes, why, "UnsupportedPlatform")
        missing = self._missing(pod["spec"], (node.get("status") or {}).get("allocatable") or {})
        if missing:
            why = f"node didn't have enough allocatable resources: {'; '.join(missing)}"
            raise _refused(attributes, why, "NodeCapacity")

    def _missing(self, spec: Object, allocatable: Mapping[str, str]) -> list[str]:
        wanted = self._requests(spec)
        missing: list[str] = []
        for resource, scale in (("cpu", -3), ("memory", 0)):
            request, limit = wanted.get(resource), Quantity.parse(allocatable.get(resource) or "0")
            if request is not None and request > limit:
                shown = f"requested: {request.scaled(scale)}, allocatable: {limit.scaled(scale)}"
                missing.append(f"{resource}, {shown}")
        return missing


def _refused(attributes: Attributes, why: str, reason: str) -> Forbidden:
    error = forbidden(attributes, why)
    error.details = {**(error.details or {}), "causes": [{"reason": reason}]}
    return error


def build(services: Services, _: Object | None) -> PodResizeValidator:
    return PodResizeValidator(services.lookup, services.pod_resources.requests)
