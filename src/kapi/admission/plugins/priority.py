"""Priority: a pod's priority is its class's; only one class is everybody's default."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.refusal import forbidden
from kapi.admission.resources import PODS, PRIORITY_CLASSES
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes


class Priority:
    name = "Priority"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.assign, "CREATE", of=(PODS,)),
            mutating(self.keep, "UPDATE", of=(PODS,)),
            validating(self.validate, "CREATE", "UPDATE", of=(PRIORITY_CLASSES,)),
        )

    def keep(self, attributes: Attributes) -> None:
        """What was set on create is kept by who does not name it."""
        spec, former = (attributes.object or {})["spec"], (attributes.old_object or {})["spec"]
        for field in ("priority", "preemptionPolicy"):
            if spec.get(field) is None and former.get(field) is not None:
                spec[field] = former[field]

    def assign(self, attributes: Attributes) -> Awaitable[None] | None:
        classes = self._lookup.listed(PRIORITY_CLASSES)
        if classes is None:
            return self._assign_later(attributes)
        self._assign(attributes, [decoded(entry) for entry in classes])
        return None

    async def _assign_later(self, attributes: Attributes) -> None:
        self._assign(attributes, await self._classes())

    async def _classes(self) -> list[Object]:
        return [decoded(entry) for entry in await self._lookup.list(PRIORITY_CLASSES)]

    def _assign(self, attributes: Attributes, classes: list[Object]) -> None:
        spec = (attributes.object or {})["spec"]
        found = _class_of(attributes, classes, spec.get("priorityClassName") or "")
        if found["name"]:
            spec["priorityClassName"] = found["name"]
        given, priority = spec.get("priority"), found["value"]
        if given is not None and given != priority:
            raise forbidden(
                attributes,
                f"the integer value of priority ({given}) must not be provided in pod spec; priority admission "
                f"controller computed {priority} from the given PriorityClass name",
            )
        spec["priority"] = priority
        policy, wanted = found["policy"], spec.get("preemptionPolicy")
        if policy is None:
            return
        if wanted is not None and wanted != policy:
            raise forbidden(
                attributes,
                f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; priority admission "
                f"controller computed {policy} from the given PriorityClass name",
            )
        spec["preemptionPolicy"] = policy

    async def validate(self, attributes: Attributes) -> None:
        new = attributes.object
        if new is None or not new.get("globalDefault"):
            return
        current = _default(await self._classes())
        if current is None:
            return
        name = current["metadata"]["name"]
        if attributes.operation == "CREATE" or name != new["metadata"].get("name"):
            text = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise forbidden(attributes, text)


def _class_of(attributes: Attributes, classes: list[Object], name: str) -> Object:
    if name:
        named = next((c for c in classes if c["metadata"]["name"] == name), None)
        if named is None:
            raise forbidden(attributes, f"no PriorityClass with name {name} was found")
    else:
        named = _default(classes)
    if named is None:
        return {"name": "", "value": 0, "policy": "PreemptLowerPriority"}
    return {
        "name": named["metadata"]["name"],
        "value": named.get("value", 0),
        "policy": named.get("preemptionPolicy"),
    }


def _default(classes: list[Object]) -> Object | None:
    """The lowest, should there be several after all."""
    defaults = [c for c in classes if c.get("globalDefault")]
    return min(defaults, key=lambda c: c.get("value", 0)) if defaults else None


def build(services: Services, _: Object | None) -> Priority:
    return Priority(services.lookup)
