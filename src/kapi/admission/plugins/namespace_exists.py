"""NamespaceExists: nothing is written in a namespace that does not exist."""

from __future__ import annotations

from kapi.admission.chain import Hook, validating
from kapi.admission.lookup import Lookup
from kapi.admission.resources import NAMESPACES
from kapi.admission.services import Services
from kapi.api.errors import NotFound
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes


class NamespaceExists:
    name = "NamespaceExists"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (validating(self.validate, "CREATE", "UPDATE", "DELETE", at=None),)

    async def validate(self, attributes: Attributes) -> None:
        name = attributes.namespace
        if not name or attributes.resource.group_resource == NAMESPACES:
            return
        if await self._lookup.get(NAMESPACES, "", name) is None:
            raise NotFound(NAMESPACES, name)


def build(services: Services, _: Object | None) -> NamespaceExists:
    return NamespaceExists(services.lookup)
