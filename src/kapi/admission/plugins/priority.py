"""Priority: a pod's priority is its class's; only one class is everybody's default."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.followed import Followed
from kapi.admission.lookup import Lookup
from kapi.admission.refusal import forbidden
from kapi.admission.resources import PODS, PRIORITY_CLASSES
from kapi.admission.services import Services
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes

# What counts where no class is named and none is the default.
_NO_CLASS: Object = {"preemptionPolicy": "PreemptLowerPriority"}


class Priority:
    name = "Priority"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup
        self._followed = Followed(lookup, PRIORITY_CLASSES)
        self._classes: dict[str, Object] = {}
        self._default: Object | None = None

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
        if self._followed.stale:
            return self._assign_later(attributes)
        self._assign(attributes)
        return None

    async def _assign_later(self, attributes: Attributes) -> None:
        await self._learn()
        self._assign(attributes)

    async def _learn(self) -> None:
        if not self._followed.stale or PRIORITY_CLASSES not in self._lookup.stores:
            return
        if not self._followed.loaded:
            await self._followed.load()
        (entries,) = self._followed.take()
        classes = [entry.object for entry in entries]
        self._classes = {found["metadata"]["name"]: found for found in classes}
        # The lowest, should there be several after all.
        defaults = [found for found in classes if found.get("globalDefault")]
        self._default = min(defaults, key=lambda found: found.get("value", 0), default=None)

    def _class_of(self, attributes: Attributes, name: str) -> Object:
        if not name:
            return self._default or _NO_CLASS
        found = self._classes.get(name)
        if found is None:
            raise forbidden(attributes, f"no PriorityClass with name {name} was found")
        return found

    def _assign(self, attributes: Attributes) -> None:
        spec = (attributes.object or {})["spec"]
        found = self._class_of(attributes, spec.get("priorityClassName") or "")
        if found is not _NO_CLASS:
            spec["priorityClassName"] = found["metadata"]["name"]
        given, priority = spec.get("priority"), found.get("value", 0)
        if given is not None and given != priority:
            raise forbidden(
                attributes,
                f"the integer value of priority ({given}) must not be provided in pod spec; priority admission "
                f"controller computed {priority} from the given PriorityClass name",
            )
        spec["priority"] = priority
        policy, wanted = found.get("preemptionPolicy"), spec.get("preemptionPolicy")
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
        await self._learn()
        current = self._default
        if current is None:
            return
        name = current["metadata"]["name"]
        if attributes.operation == "CREATE" or name != new["metadata"].get("name"):
            text = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise forbidden(attributes, text)


def build(services: Services, _: Object | None) -> Priority:
    return Priority(services.lookup)
