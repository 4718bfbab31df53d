"""NamespaceAutoProvision: a namespace that something is created in comes to be with it."""

from __future__ import annotations

from kapi.admission.chain import Hook, mutating
from kapi.admission.lookup import Lookup
from kapi.admission.refusal import forbidden
from kapi.admission.resources import NAMESPACES
from kapi.admission.services import Services
from kapi.api.errors import AlreadyExists, APIError
from kapi.api.objects import Object
from kapi.registry.attributes import Attributes
from kapi.registry.options import WriteOptions


class NamespaceAutoProvision:
    name = "NamespaceAutoProvision"

    def __init__(self, lookup: Lookup) -> None:
        self._lookup = lookup

    def hooks(self) -> tuple[Hook, ...]:
        return (mutating(self.provide, "CREATE", at=None),)

    async def provide(self, attributes: Attributes) -> None:
        name = attributes.namespace
        if attributes.options.dry_run or not name or attributes.resource.group_resource == NAMESPACES:
            return
        if await self._lookup.get(NAMESPACES, "", name) is not None:
            return
        store = self._lookup.stores[NAMESPACES]
        new: Object = {"kind": "Namespace", "apiVersion": "v1", "metadata": {"name": name}, "spec": {}, "status": {}}
        if store.resource.strategy.default is not None:
            store.resource.strategy.default(new)
        try:
            await store.create(attributes.call, "", new, WriteOptions())
        except AlreadyExists:
            return
        except APIError as error:
            raise forbidden(attributes, error.message) from None


def build(services: Services, _: Object | None) -> NamespaceAutoProvision:
    return NamespaceAutoProvision(services.lookup)
