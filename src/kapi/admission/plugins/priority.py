"""Priority: a pod's priority is its class's; only one class is everybody's default."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kapi.admission.chain import Hook, mutating, validating
from kapi.api.errors import Forbidden
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes, Operation

_CLASSES = ("scheduling.k8s.io", "priorityclasses")


class Priority:
    """`classes` lists the PriorityClasses there are."""

    name = "Priority"
    operations: frozenset[Operation] = frozenset(("CREATE", "UPDATE"))

    def __init__(self, classes: Callable[[], Awaitable[list[Object]]]) -> None:
        self._classes = classes

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, *self.operations, at=None),
            validating(self.validate, *self.operations, at=None),
        )

    async def mutate(self, attributes: Attributes) -> None:
        pod = attributes.object
        if attributes.resource.group_resource != ("", "pods") or attributes.subresource or pod is None:
            return
        if attributes.operation == "CREATE":
            await self._assign(attributes, pod["spec"])
        elif attributes.old_object is not None:
            # What was set on create is kept by who does not name it.
            former = attributes.old_object["spec"]
            for field in ("priority", "preemptionPolicy"):
                if pod["spec"].get(field) is None and former.get(field) is not None:
                    pod["spec"][field] = former[field]

    async def _assign(self, attributes: Attributes, spec: Object) -> None:
        found = await self._class_of(attributes, spec.get("priorityClassName") or "")
        if found["name"]:
            spec["priorityClassName"] = found["name"]
        given, priority = spec.get("priority"), found["value"]
        if given is not None and given != priority:
            raise self._refused(
                attributes,
                f"the integer value of priority ({given}) must not be provided in pod spec; priority admission "
                f"controller computed {priority} from the given PriorityClass name",
            )
        spec["priority"] = priority
        policy, wanted = found["policy"], spec.get("preemptionPolicy")
        if policy is None:
            return
        if wanted is not None and wanted != policy:
            raise self._refused(
                attributes,
                f"the string value of PreemptionPolicy ({wanted}) must not be provided in pod spec; priority admission "
                f"controller computed {policy} from the given PriorityClass name",
            )
        spec["preemptionPolicy"] = policy

    async def _class_of(self, attributes: Attributes, name: str) -> Object:
        classes = await self._classes()
        if name:
            named = next((c for c in classes if c["metadata"]["name"] == name), None)
            if named is None:
                raise self._refused(attributes, f"no PriorityClass with name {name} was found")
        else:
            named = _default(classes)
        if named is None:
            return {"name": "", "value": 0, "policy": "PreemptLowerPriority"}
        return {
            "name": named["metadata"]["name"],
            "value": named.get("value", 0),
            "policy": named.get("preemptionPolicy"),
        }

    async def validate(self, attributes: Attributes) -> None:
        new = attributes.object
        if attributes.resource.group_resource != _CLASSES or new is None or not new.get("globalDefault"):
            return
        current = _default(await self._classes())
        if current is None:
            return
        name = current["metadata"]["name"]
        if attributes.operation == "CREATE" or name != new["metadata"].get("name"):
            text = f"PriorityClass {name} is already marked as default. Only one default can exist"
            raise self._refused(attributes, text)

    def _refused(self, attributes: Attributes, why: str) -> Forbidden:
        return Forbidden(attributes.resource.group_resource, attributes.name, why)


def _default(classes: list[Object]) -> Object | None:
    """The lowest, should there be several after all."""
    defaults = [c for c in classes if c.get("globalDefault")]
    return min(defaults, key=lambda c: c.get("value", 0)) if defaults else None
