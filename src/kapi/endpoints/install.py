"""Installation: from resources to the handlers and discovery entries that serve them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from kapi.api.clock import Clock
from kapi.api.gvk import GroupKind, GroupResource, GroupVersion
from kapi.api.settings import Settings
from kapi.endpoints.discovery import GroupVersionEntry, ResourceEntry, SubresourceEntry
from kapi.endpoints.endpoint import Endpoint, Limits
from kapi.endpoints.group_version import GroupVersionHandler
from kapi.endpoints.render import Renderer
from kapi.registry.attributes import Admission
from kapi.registry.gated import without_gated
from kapi.registry.resource import Resource
from kapi.registry.store import Store
from kapi.storage import kv
from kapi.storage.cacher.entry import EntryMaker, Shape
from kapi.storage.factory import StorageFactory
from kapi.storage.objects import ObjectStore


@dataclass(frozen=True, slots=True, kw_only=True)
class Installed:
    handlers: Mapping[GroupVersion, GroupVersionHandler]
    stores: Mapping[GroupResource, Store]


_OLDER_STORED = {
    GroupKind("apiextensions.k8s.io", "CustomResourceDefinition"): "v1beta1",
    GroupKind("certificates.k8s.io", "ClusterTrustBundle"): "v1beta1",
    GroupKind("certificates.k8s.io", "PodCertificateRequest"): "v1beta1",
    GroupKind("resource.k8s.io", "DeviceTaintRule"): "v1beta2",
    GroupKind("storagemigration.k8s.io", "StorageVersionMigration"): "v1beta1",
}


class Installer:
    """What all resources of a server are installed with."""

    def __init__(
        self,
        factory: StorageFactory,
        admission: Admission,
        clock: Clock,
        limits: Limits,
        settings: Settings,
        serves: Callable[[Resource], bool],
    ) -> None:
        self._factory = factory
        self._admission = admission
        self._clock = clock
        self._limits = limits
        self.settings = settings
        self._serves = serves
        self.stores: list[Store] = []  # of all that was installed to stay, in every version

    def install(self, resources: Iterable[Resource], priorities: Mapping[GroupVersion, tuple[int, int]]) -> Installed:
        """`priorities` order the groups and the versions within a group. What is not served has a store as well."""
        stores: dict[GroupResource, Store] = {}
        served: dict[GroupVersion, dict[str, Endpoint]] = {}
        for resource in resources:
            endpoint = self.endpoint(without_gated(resource, self.settings.features))
            stores[resource.group_resource] = endpoint.store
            endpoint.store.peers = stores
            self.stores.append(endpoint.store)
            if self._serves(resource):
                served.setdefault(resource.group_version, {})[resource.names.plural] = endpoint
        handlers = {
            gv: GroupVersionHandler(found, _entry(gv, found, priorities[gv]), self.settings)
            for gv, found in served.items()
        }
        return Installed(handlers=handlers, stores=stores)

    def engine(self, resource: GroupResource) -> kv.KV:
        """Where the objects of a resource are stored."""
        return self._factory.engine(resource)

    def passing(self, resource: Resource, engine: kv.KV, make_entry: EntryMaker) -> Endpoint:
        """The endpoint of a resource that may go again: `retire` ends it."""
        objects = self._factory.passing(resource.group_resource, engine, resource.prefix, make_entry)
        return self._over(resource, objects)

    async def retire(self, endpoint: Endpoint) -> None:
        await self._factory.retire(endpoint.store.objects)

    def endpoint(self, resource: Resource) -> Endpoint:
        conversion = resource.conversion
        gvk = resource.gvk if conversion is None else conversion.stored
        stored = resource.group_resource if conversion is None else conversion.stored_resource
        shape = Shape(kind=gvk.kind, api_version=str(gvk.group_version), fields_of=resource.fields_of)
        prefix = resource.stored_at
        return self._over(resource, self._factory.objects(stored, prefix, shape, expires=resource.expires))

    def _over(self, resource: Resource, objects: ObjectStore) -> Endpoint:
        return Endpoint(
            resource=resource,
            store=Store(resource, objects, self._admission, self._clock),
            renderer=Renderer(resource, self._clock),
            limits=self._limits,
        )


def _entry(
    group_version: GroupVersion, endpoints: Mapping[str, Endpoint], priorities: tuple[int, int]
) -> GroupVersionEntry:
    return GroupVersionEntry(
        group_version=group_version,
        resources=tuple(_resource_entry(endpoints[plural].resource) for plural in sorted(endpoints)),
        priority=priorities[0],
        version_priority=priorities[1],
    )


def _resource_entry(resource: Resource) -> ResourceEntry:
    names, facts = resource.names, resource.facts
    told = {s.name: s for s in facts.subresources} if facts is not None else {}
    subresources = []
    for name, sub in sorted(resource.subresources.items()):
        fact = told.get(name)
        subresources.append(
            SubresourceEntry(
                name=name,
                kind=fact.kind if fact is not None else resource.kind,
                group=fact.group if fact is not None else "",
                version=fact.version if fact is not None else "",
                verbs=fact.verbs if fact is not None else sub.verbs,
            )
        )
    return ResourceEntry(
        plural=names.plural,
        singular=names.singular,
        kind=names.kind,
        namespaced=names.namespaced,
        verbs=names.verbs,
        short_names=names.short_names,
        categories=names.categories,
        subresources=tuple(subresources),
        stored_as=_stored_as(resource),
        # As upstream, which does not tell it of a namespace.
        returns_deleted=resource.returns_deleted and resource.strategy.mark_deleting is None,
    )


def _stored_as(resource: Resource) -> tuple[str, str, str] | None:
    if resource.virtual is not None:
        return None
    if resource.conversion is not None:
        return resource.conversion.stored
    # As upstream, which still stores some kinds in an older version: clients compare the hash over servers.
    version = _OLDER_STORED.get(resource.group_kind, resource.version)
    return resource.group, version, resource.kind
