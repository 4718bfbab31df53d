"""NamespaceLifecycle: nothing is created in a namespace that does not exist or is going; some never go."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from kapi.admission.chain import Hook, mutating, validating
from kapi.api.errors import Forbidden, NotFound
from kapi.api.gvk import GroupResource
from kapi.registry.attributes import Attributes, Operation
from kapi.storage.cacher.entry import Entry

IMMORTAL = frozenset(("default", "kube-system", "kube-public"))
_NAMESPACES = GroupResource("", "namespaces")
# Reviews are not stored: they may be made anywhere.
_REVIEWS = frozenset(("localsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"))


class NamespaceLifecycle:
    name = "NamespaceLifecycle"
    operations: frozenset[Operation] = frozenset(("CREATE", "DELETE"))

    def __init__(self, namespace: Callable[[str], Awaitable[Entry | None]]) -> None:
        self._namespace = namespace

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.mutate, *self.operations, at=None),
            validating(self.validate, *self.operations, at=None),
        )

    async def mutate(self, attributes: Attributes) -> None:
        if attributes.operation == "CREATE" and attributes.namespace and attributes.resource.resource != "namespaces":
            await self._check(attributes)

    async def validate(self, attributes: Attributes) -> None:
        if attributes.operation != "DELETE" or attributes.resource.resource != "namespaces":
            return
        if attributes.resource.group == "" and attributes.name in IMMORTAL:
            raise Forbidden(_NAMESPACES, attributes.name, "this namespace may not be deleted")

    async def _check(self, attributes: Attributes) -> None:
        if attributes.resource.resource in _REVIEWS:
            return
        name = attributes.namespace
        entry = await self._namespace(name)
        if entry is None:
            raise NotFound(_NAMESPACES, name)
        if _terminating(entry):
            error = Forbidden(
                attributes.resource.group_resource,
                attributes.name,
                f"unable to create new content in namespace {name} because it is being terminated",
            )
            cause = {
                "reason": "NamespaceTerminating",
                "message": f"namespace {name} is being terminated",
                "field": "metadata.namespace",
            }
            error.details = {**(error.details or {}), "causes": [cause]}
            raise error


def _terminating(entry: Entry) -> bool:
    if entry.renderings is None:
        entry.renderings = {}
    found = entry.renderings.get("terminating")
    if found is None:
        found = entry.renderings["terminating"] = entry.object.get("status", {}).get("phase") == "Terminating"
    return bool(found)
