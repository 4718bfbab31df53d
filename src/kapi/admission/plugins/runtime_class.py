"""RuntimeClass: a pod takes over its runtime class's overhead and what its nodes are chosen by."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.lookup import Lookup, decoded, unaskable
from kapi.admission.refusal import forbidden
from kapi.admission.resources import PODS, RUNTIME_CLASSES
from kapi.admission.services import Services
from kapi.admission.tolerations import merged
from kapi.api.errors import APIError
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.registry.attributes import Attributes

_DIFFERS = "pod rejected: Pod's Overhead doesn't match RuntimeClass's defined Overhead"
_UNFOUNDED = "pod rejected: Pod Overhead set without corresponding RuntimeClass defined Overhead"


class RuntimeClass:
    name = "RuntimeClass"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.mutate, "CREATE", of=(PODS,)), validating(self.validate, "CREATE", of=(PODS,)))

    def mutate(self, attributes: Attributes) -> Awaitable[None] | None:
        spec = (attributes.object or {})["spec"]
        return None if spec.get("runtimeClassName") is None else self._take_over(attributes, spec)

    async def _take_over(self, attributes: Attributes, spec: Object) -> None:
        found = await self._class(attributes, spec["runtimeClassName"])
        if found.get("overhead") is not None:
            fixed = found["overhead"].get("podFixed") or {}
            if spec.get("overhead") and not _equal(fixed, spec["overhead"]):
                raise forbidden(attributes, _DIFFERS)
            spec["overhead"] = dict(fixed)
        if found.get("scheduling") is not None:
            _schedule(attributes, spec, found["scheduling"])

    def validate(self, attributes: Attributes) -> Awaitable[None] | None:
        spec = (attributes.object or {})["spec"]
        if spec.get("runtimeClassName") is not None:
            return self._compare(attributes, spec)
        if spec.get("overhead") is not None:
            raise forbidden(attributes, _UNFOUNDED)
        return None

    async def _compare(self, attributes: Attributes, spec: Object) -> None:
        found = await self._class(attributes, spec["runtimeClassName"])
        if found.get("overhead") is None:
            if spec.get("overhead") is not None:
                raise forbidden(attributes, _UNFOUNDED)
        elif not _equal(found["overhead"].get("podFixed") or {}, spec.get("overhead") or {}):
            raise forbidden(attributes, _DIFFERS)

    async def _class(self, attributes: Attributes, name: str) -> Object:
        why = unaskable(name)
        if why:
            raise APIError(why)
        entry = await self._lookup.get(RUNTIME_CLASSES, "", name)
        if entry is None:
            raise forbidden(attributes, f'pod rejected: RuntimeClass "{name}" not found')
        return decoded(entry)


def _equal(one: Object, other: Object) -> bool:
    return one.keys() == other.keys() and all(Quantity.parse(one[k]) == Quantity.parse(other[k]) for k in one)


def _schedule(attributes: Attributes, spec: Object, scheduling: Object) -> None:
    selector = dict(spec.get("nodeSelector") or {})
    for key, value in (scheduling.get("nodeSelector") or {}).items():
        own = selector.setdefault(key, value)
        if own != value:
            why = (
                f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}; pod.spec.nodeSelector[{key}] = {own}"
            )
            raise forbidden(attributes, why)
    if selector:
        spec["nodeSelector"] = selector
    tolerations = merged(spec.get("tolerations") or (), scheduling.get("tolerations") or ())
    if tolerations:
        spec["tolerations"] = tolerations


def build(services: Services, _: Object | None) -> RuntimeClass:
    return RuntimeClass(services.lookup)
