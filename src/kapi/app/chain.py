"""The server chain: Aggregator → Kube → API extensions → 404, each delegating to the next."""

from __future__ import annotations

import os

from kapi.admission.chain import Chain
from kapi.admission.plugins.namespace_lifecycle import NamespaceLifecycle
from kapi.admission.plugins.storage_object_in_use_protection import StorageObjectInUseProtection
from kapi.admission.plugins.taint_nodes_by_condition import TaintNodesByCondition
from kapi.aggregator.server import AggregatorServer
from kapi.api.settings import Settings
from kapi.apiextensions.server import APIExtensionsServer
from kapi.app.storage import Engines
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.endpoint import Limits
from kapi.endpoints.install import Installer
from kapi.kube.server import NAMESPACES, KubeServer
from kapi.kube.service_controllers import ServiceControllers
from kapi.kube.service_network import ServiceNetwork
from kapi.options.complete import CompletedOptions
from kapi.registry.store import Store
from kapi.server.config import GenericConfig
from kapi.server.delegation import EmptyDelegate
from kapi.server.server import GenericServer
from kapi.storage.cacher.entry import Entry
from kapi.storage.factory import StorageConfig, StorageFactory


class ServerChain:
    """`server` is the first to be asked; `factory` holds the stores of all."""

    def __init__(self, completed: CompletedOptions, config: GenericConfig, engines: Engines) -> None:
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
        self._namespaces: Store | None = None
        limits = Limits(
            body_bytes=config.max_request_body_bytes,
            min_watch_seconds=config.min_request_timeout,
            delete_workers=options.etcd.delete_collection_workers,
        )
        settings = Settings(allow_privileged=config.capabilities.allow_privileged, features=config.features)
        admission = Chain(
            [NamespaceLifecycle(self._namespace), TaintNodesByCondition(), StorageObjectInUseProtection()]
        )
        installer = Installer(self.factory, admission, config.clock, limits, settings)
        self.server = self._create(config, installer, ServiceControllers(service_network(completed), self.factory))

    def _create(self, config: GenericConfig, installer: Installer, services: ServiceControllers) -> GenericServer:
        catalogue = Catalogue()
        extensions = APIExtensionsServer(config, EmptyDelegate(), installer, catalogue)
        kube = KubeServer(config, extensions, installer, catalogue, services)
        self._namespaces = kube.stores[NAMESPACES]
        # As upstream once did for odd test set-ups: the Kube server alone, without the aggregator in front.
        if os.environ.get("KUBE_API_VERSIONS"):
            return kube
        return AggregatorServer(config, kube, installer, catalogue)

    async def _namespace(self, name: str) -> Entry | None:
        """For admission: from the cache, and from the store before a namespace is said to be missing."""
        assert self._namespaces is not None, "no request is served before the chain is complete"
        objects = self._namespaces.objects
        key = self._namespaces.key("", name)
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
