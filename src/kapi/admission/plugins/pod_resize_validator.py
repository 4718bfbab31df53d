"""PodResizeValidator: a running pod is given no more than its node has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from kapi.admission.chain import Hook, mutating, validating
from kapi.api.errors import Forbidden
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.registry.attributes import Attributes, Operation
from kapi.storage.cacher.entry import Entry


class PodResizeValidator:
    """`node` looks up a node by name; `requests` sums up what a pod's spec requests."""

    name = "PodResizeValidator"
    operations: frozenset[Operation] = frozenset(("UPDATE",))

    def __init__(
        self,
        node: Callable[[str], Awaitable[Entry | None]],
        requests: Callable[[Object], Mapping[str, Quantity]],
    ) -> None:
        self._node = node
        self._requests = requests

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, *self.operations, at=None),
            validating(self.validate, *self.operations, at=None),
        )

    async def mutate(self, attributes: Attributes) -> None:
        """Nothing to change."""

    async def validate(self, attributes: Attributes) -> None:
        pod, old = attributes.object, attributes.old_object
        if attributes.subresource != "resize" or attributes.resource.group_resource != ("", "pods"):
            return
        name = pod["spec"].get("nodeName") if pod is not None else None
        if pod is None or old is None or not name:
            return
        if pod["metadata"].get("generation") == old["metadata"].get("generation"):
            return
        entry = await self._node(name)
        if entry is None:
            raise Forbidden(attributes.resource.group_resource, attributes.name, f'node "{name}" not found')
        node = entry.object
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
    error = Forbidden(attributes.resource.group_resource, attributes.name, why)
    error.details = {**(error.details or {}), "causes": [{"reason": reason}]}
    return error
