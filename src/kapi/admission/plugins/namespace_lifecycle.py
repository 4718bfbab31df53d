"""NamespaceLifecycle: nothing is created in a namespace that does not exist or is going; some never go."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.admission.chain import Hook, mutating, validating
from kapi.admission.lookup import Lookup, decoded
from kapi.admission.refusal import forbidden
from kapi.admission.resources import NAMESPACES
from kapi.admission.services import Services
from kapi.api.errors import NotFound
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes
from kapi.storage.cacher.entry import Entry

IMMORTAL = frozenset(("default", "kube-system", "kube-public"))
# Reviews are not stored: they may be made anywhere.
_REVIEWS = frozenset(("localsubjectaccessreviews", "subjectaccessreviews", "tokenreviews"))


class NamespaceLifecycle:
    name = "NamespaceLifecycle"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (
            mutating(self.check_create, "CREATE", at=None),
            validating(self.check_delete, "DELETE", of=(NAMESPACES,)),
        )

    def check_delete(self, attributes: Attributes) -> None:
        if attributes.name in IMMORTAL:
            raise forbidden(attributes, "this namespace may not be deleted")

    def check_create(self, attributes: Attributes) -> Awaitable[None] | None:
        name, resource = attributes.namespace, attributes.resource.resource
        if not name or resource == "namespaces" or resource in _REVIEWS:
            return None
        entry = self._lookup.cached(NAMESPACES, "", name)
        if entry is None:
            return self._check_later(attributes)
        _check(attributes, entry)
        return None

    async def _check_later(self, attributes: Attributes) -> None:
        entry = await self._lookup.get(NAMESPACES, "", attributes.namespace)
        if entry is None:
            raise NotFound(NAMESPACES, attributes.namespace)
        _check(attributes, entry)


def _check(attributes: Attributes, entry: Entry) -> None:
    if decoded(entry).get("status", {}).get("phase") != "Terminating":
        return
    name = attributes.namespace
    error = forbidden(attributes, f"unable to create new content in namespace {name} because it is being terminated")
    cause = {
        "reason": "NamespaceTerminating",
        "message": f"namespace {name} is being terminated",
        "field": "metadata.namespace",
    }
    error.details = {**(error.details or {}), "causes": [cause]}
    raise error


def build(services: Services, _: Object | None) -> NamespaceLifecycle:
    return NamespaceLifecycle(services.lookup)
