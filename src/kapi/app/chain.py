"""The server chain: Aggregator → Kube → API extensions → 404, each delegating to the next."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kapi.admission.build import build_plugins
from kapi.admission.chain import Chain
from kapi.admission.lookup import Lookup
from kapi.admission.plugins.create_authorization import CreateAuthorization
from kapi.admission.plugins.unsafe_delete_authorization import UnsafeDeleteAuthorization
from kapi.admission.services import PodResources, Services
from kapi.admission.versions import Versions
from kapi.admission.webhooks.metrics import WebhookMetrics
from kapi.aggregator.server import AggregatorServer
from kapi.api.settings import Settings
from kapi.apiextensions.conversion import Conversions
from kapi.apiextensions.server import APIExtensionsServer
from kapi.app.extensions import ConversionFunctions, admission_functions
from kapi.app.storage import Engines
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.endpoint import Limits
from kapi.endpoints.install import Installer
from kapi.flowcontrol.object_stats import ObjectStats
from kapi.kube.enablement import Enablement
from kapi.kube.security import Security
from kapi.kube.server import KubeServer
from kapi.kube.service_controllers import ServiceControllers
from kapi.kube.service_network import ServiceNetwork
from kapi.options.complete import CompletedOptions
from kapi.proxy.hook_clients import HookClients
from kapi.registry.service_resolver import ServiceResolver
from kapi.resources.podspec.resources import aggregate, is_extended, pod_requests, quality_of_service
from kapi.server.config import GenericConfig
from kapi.server.delegation import EmptyDelegate
from kapi.server.server import GenericServer
from kapi.storage.factory import StorageConfig, StorageFactory

if TYPE_CHECKING:
    from kapi.storage.encryption.encryption import Encryption


class ServerChain:
    """`server` is the first to be asked; `factory` holds the stores of all; `services` is what admission looks at.

    Raises ExtensionError and ConfigurationError.
    """

    def __init__(
        self,
        completed: CompletedOptions,
        config: GenericConfig,
        engines: Engines,
        security: Security,
        encryption: Encryption | None = None,
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
            encryption,
        )
        if config.flow_control is not None:
            config.flow_control.bind_stats(ObjectStats(self.factory.cacher))
        self.catalogue = Catalogue()
        limits = Limits(
            body_bytes=config.max_request_body_bytes,
            min_watch_seconds=config.min_request_timeout,
            delete_workers=options.etcd.delete_collection_workers,
        )
        settings = Settings(allow_privileged=config.capabilities.allow_privileged, features=config.features)
        self._has_client_certificate = bool(options.misc.proxy_client_cert_file)
        self._lookup = Lookup()
        self._resolver = ServiceResolver(by_endpoint=options.misc.enable_aggregator_routing)
        self._hooks = HookClients(self._resolver)
        self._functions = ConversionFunctions(options.kapi.conversion_function)
        self._versions = Versions()
        admission = self._admission(completed, config, security)
        installer = Installer(self.factory, admission, config.clock, limits, settings, _enablement(completed).serves)
        services = ServiceControllers(service_network(completed), self.factory)
        self.server = self._create(config, installer, services, security)

    def _admission(self, completed: CompletedOptions, config: GenericConfig, security: Security) -> Chain:
        """Raises ConfigurationError."""
        options = completed.options.admission
        services = self.services = Services(
            lookup=self._lookup,
            versions=self._versions,
            authorizer=security.authorizer,
            clock=config.clock,
            pod_resources=PodResources(
                of_containers=aggregate,
                requests=pod_requests,
                quality_of_service=quality_of_service,
                is_extended=is_extended,
            ),
            not_ready_seconds=options.default_not_ready_toleration_seconds,
            unreachable_seconds=options.default_unreachable_toleration_seconds,
            hooks=self._hooks,
            webhook_metrics=WebhookMetrics(config.instruments.registry),
            functions=admission_functions(completed.options.admission.admission_plugin_module),
            metrics=config.instruments.registry,
            features=config.features,
        )
        plugins = build_plugins(options.plugins(), services, options.configurations())
        return Chain(
            [CreateAuthorization(security.authorizer), UnsafeDeleteAuthorization(security.authorizer), *plugins]
        )

    def _create(
        self, config: GenericConfig, installer: Installer, services: ServiceControllers, security: Security
    ) -> GenericServer:
        catalogue = self.catalogue
        conversions = Conversions(self._hooks, self._functions)
        extensions = APIExtensionsServer(config, EmptyDelegate(), installer, catalogue, conversions)
        kube = KubeServer(config, extensions, installer, catalogue, services, security)
        self._lookup.bind(kube.stores)
        self._resolver.bind(kube.stores)
        # As upstream once did for odd test set-ups: the Kube server alone, without the aggregator in front.
        alone = bool(os.environ.get("KUBE_API_VERSIONS"))
        certified, served = self._has_client_certificate, extensions.served
        server = (
            kube
            if alone
            else AggregatorServer(config, kube, installer, catalogue, served, has_client_certificate=certified)
        )
        self._versions.bind(installer.stores, extensions.served)
        return server

    async def close(self) -> None:
        await self.factory.close()
        self._hooks.close()


def _enablement(completed: CompletedOptions) -> Enablement:
    generic = completed.options.generic
    return Enablement(
        runtime_config=completed.runtime_config,
        features=completed.feature_gates,
        emulated=generic.emulated_minor,
        forward_compatible=generic.emulation_forward_compatible,
        config_forward_compatible=generic.runtime_config_emulation_forward_compatible,
    )


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
