"""The server chain: Aggregator → Kube → API extensions → 404, each delegating to the next."""

from __future__ import annotations

import os
from collections.abc import Mapping

from kapi.admission.chain import Chain
from kapi.admission.plugins.create_authorization import CreateAuthorization
from kapi.admission.plugins.default_toleration_seconds import DefaultTolerationSeconds
from kapi.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from kapi.admission.plugins.pod_resize_validator import PodResizeValidator
from kapi.admission.plugins.priority import Priority
from kapi.admission.plugins.service_account import ServiceAccount
from kapi.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from kapi.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from kapi.aggregator.server import AggregatorServer
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object, Revision
from kapi.api.settings import Settings
from kapi.apiextensions.server import APIExtensionsServer
from kapi.app.storage import Engines
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.endpoint import Limits
from kapi.endpoints.install import Installer
from kapi.kube.security import Security
from kapi.kube.server import NAMESPACES, KubeServer
from kapi.kube.service_controllers import ServiceControllers
from kapi.kube.service_network import ServiceNetwork
from kapi.options.complete import CompletedOptions
from kapi.registry.store import Store
from kapi.resources.podspec.resources import pod_requests
from kapi.server.config import GenericConfig
from kapi.server.delegation import EmptyDelegate
from kapi.server.server import GenericServer
from kapi.storage.cacher.entry import Entry
from kapi.storage.factory import StorageConfig, StorageFactory
from kapi.storage.objects import Query

SERVICE_ACCOUNTS = GroupResource("", "serviceaccounts")
NODES = GroupResource("", "nodes")
PRIORITY_CLASSES = GroupResource("scheduling.k8s.io", "priorityclasses")


class ServerChain:
    """`server` is the first to be asked; `factory` holds the stores of all."""

    def __init__(
        self, completed: CompletedOptions, config: GenericConfig, engines: Engines, security: Security
    ) -> None:
        options = completed.options
        self.factory = StorageFactory(
            engines.of,
            StorageConfig(
                root=options.etcd.etcd_prefix,
                watch_cache=options.etcd.watch_cache,
                watch_cache_sizes=completed.watch_cache_sizes,
                event_ttl=int(options.misc.event_ttl),
            ),
            config.clock,
        )
        self.catalogue = Catalogue()
        self._stores: Mapping[GroupResource, Store] = {}
        limits = Limits(
            body_bytes=config.max_request_body_bytes,
            min_watch_seconds=config.min_request_timeout,
            delete_workers=options.etcd.delete_collection_workers,
        )
        settings = Settings(allow_privileged=config.capabilities.allow_privileged, features=config.features)
        admission = Chain(
            [
                CreateAuthorization(security.authorizer),
                NamespaceLifecycle(self._namespace),
                ServiceAccount(self._service_account),
                TaintNodesByCondition(),
                Priority(self._priority_classes),
                DefaultTolerationSeconds(
                    options.admission.default_not_ready_toleration_seconds,
                    options.admission.default_unreachable_toleration_seconds,
                ),
                StorageObjectInUseProtection(),
                PodResizeValidator(self._node, pod_requests),
            ]
        )
        installer = Installer(self.factory, admission, config.clock, limits, settings)
        services = ServiceControllers(service_network(completed), self.factory)
        self.server = self._create(config, installer, services, security)

    def _create(
        self, config: GenericConfig, installer: Installer, services: ServiceControllers, security: Security
    ) -> GenericServer:
        catalogue = self.catalogue
        extensions = APIExtensionsServer(config, EmptyDelegate(), installer, catalogue)
        kube = KubeServer(config, extensions, installer, catalogue, services, security)
        self._stores = kube.stores
        # As upstream once did for odd test set-ups: the Kube server alone, without the aggregator in front.
        if os.environ.get("KUBE_API_VERSIONS"):
            return kube
        return AggregatorServer(config, kube, installer, catalogue)

    async def _namespace(self, name: str) -> Entry | None:
        return await self._found(NAMESPACES, "", name)

    async def _service_account(self, namespace: str, name: str) -> Entry | None:
        return await self._found(SERVICE_ACCOUNTS, namespace, name)

    async def _node(self, name: str) -> Entry | None:
        return await self._found(NODES, "", name)

    async def _priority_classes(self) -> list[Object]:
        store = self._stores.get(PRIORITY_CLASSES)
        if store is None:
            return []
        listing = await store.list(Query(scope=store.scope(""), revision=Revision(0)))
        return [entry.object for entry in listing.entries]

    async def _found(self, resource: GroupResource, namespace: str, name: str) -> Entry | None:
        """For admission: from the cache, and from the store before an object is said to be missing."""
        store = self._stores[resource]
        key = store.key(namespace, name)
        objects = store.objects
        entry = objects.cacher.get(key) if objects.cacher.ready else None
        return entry if entry is not None else await objects.get(key, None)

    async def close(self) -> None:
        await self.factory.close()


def service_network(completed: CompletedOptions) -> ServiceNetwork:
    misc, ips = completed.options.misc, completed.service_ips
    ports = misc.service_node_port_range
    return ServiceNetwork(
        ranges=tuple(str(network) for network in (ips.primary, ips.secondary) if network is not None),
        node_ports=range(ports.low, ports.high + 1),
        api_server_ip=ips.api_server,
        advertise_address=completed.advertise_address,
        port=completed.options.secure_serving.secure_port,
        node_port=misc.kubernetes_service_node_port,
        reconciler=misc.endpoint_reconciler_type,
        servers=misc.apiserver_count,
    )
