"""The Kube server: the built-in resources over the generic server."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import replace

from kapi.api.gvk import GroupResource
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.install import Installer
from kapi.endpoints.openapi.routes import OpenAPI
from kapi.endpoints.priorities import PRIORITIES
from kapi.kube.bootstrap import install_bootstrap
from kapi.kube.cluster_authentication import ClusterAuthentication
from kapi.kube.flow_control import install_flow_control
from kapi.kube.identity_lease import IdentityLease
from kapi.kube.informers import ADMISSION, SHARED, fill, informer_sync
from kapi.kube.legacy_token_tracking import LegacyTokenTracking
from kapi.kube.resources import RESOURCES
from kapi.kube.security import Security
from kapi.kube.service_controllers import ServiceControllers, ServiceHooks
from kapi.kube.system_namespaces import create_system_namespaces
from kapi.registry.resource import StoreHooks
from kapi.registry.store import Store
from kapi.resources.resource.admin_access import all_admin_access
from kapi.server.config import GenericConfig
from kapi.server.delegation import Delegate
from kapi.server.hooks import HookContext, nothing_to_start
from kapi.server.server import GenericServer

CONFIG_MAPS, NAMESPACES, SERVICES = (GroupResource("", plural) for plural in ("configmaps", "namespaces", "services"))
_RETRY_SECONDS = 0.5


class KubeServer(GenericServer):
    """`stores` are those of the built-in resources, for admission and authorization to look things up."""

    def __init__(
        self,
        config: GenericConfig,
        delegate: Delegate,
        installer: Installer,
        catalogue: Catalogue,
        services: ServiceControllers,
        security: Security,
    ) -> None:
        super().__init__("kube-apiserver", config, delegate)
        admin_access = {access.resource.group_resource: access for access in all_admin_access()}
        hooks: dict[GroupResource, StoreHooks] = {SERVICES: services.allocation, **admin_access}
        resources = [replace(r, hooks=hooks.get(r.group_resource, r.hooks)) for r in RESOURCES]
        installed = installer.install(security.resources(resources, config.clock), PRIORITIES)
        self.stores: dict[GroupResource, Store] = dict(installed.stores)
        self.api_groups.update({(gv.group, gv.version): h for gv, h in installed.handlers.items()})
        entries = [handler.entry for handler in installed.handlers.values()]
        catalogue.add(lambda: entries)
        openapi = OpenAPI(catalogue, security.told_paths)
        self.routes.exact["/openapi/v2"] = openapi.v2
        self.routes.exact["/openapi/v3"] = openapi.v3_index
        self.routes.add_prefix("/openapi/v3/", openapi.v3)
        security.bind(self.routes, self.stores)
        for access in admin_access.values():
            access.bind(self.stores[NAMESPACES])
        self._add_generic_hooks()
        self._add_hooks(services.install(self, self.stores), security)

    def _add_generic_hooks(self) -> None:
        self.add_generic_check(informer_sync(self.stores))
        self.add_generic_hook("start-apiserver-admission-initializer", fill(self.stores, ADMISSION))
        self.add_generic_hook("generic-apiserver-start-informers", fill(self.stores, SHARED))
        if self.config.flow_control is not None:
            install_flow_control(self, self.config.flow_control, self.stores)

    def _add_hooks(self, services: ServiceHooks, security: Security) -> None:
        """In upstream's order, which is also that of the health checks."""
        clock = self.config.clock
        identity = IdentityLease(clock)
        self.add_post_start_hook("start-system-namespaces-controller", create_system_namespaces)
        # Servers of one cluster serve the same versions and pass no requests to each other: none has to be found.
        self.add_post_start_hook("peer-endpoint-reconciler-controller", nothing_to_start)
        told = ClusterAuthentication(security.told, self.stores[CONFIG_MAPS], clock)
        self.add_post_start_hook("start-cluster-authentication-info-controller", told.start)
        self.add_post_start_hook("start-kube-apiserver-identity-lease-controller", identity.start)
        self.add_post_start_hook("start-kube-apiserver-identity-lease-garbage-collector", identity.collect)
        self.add_post_start_hook("storage-readiness", self._wait_for_storage)
        self.add_post_start_hook(
            "start-legacy-token-tracking-controller", LegacyTokenTracking(self.stores[CONFIG_MAPS], clock).start
        )
        self.add_post_start_hook("start-service-ip-repair-controllers", services.repair)
        install_bootstrap(self, self.stores)
        self.add_post_start_hook("bootstrap-controller", services.kubernetes_service)
        self.add_post_start_hook("start-kubernetes-service-cidr-controller", services.ranges)

    async def _wait_for_storage(self, context: HookContext) -> None:
        """Until the engines answer. Caches are filled as they are asked for, and whoever asks waits."""
        for check in self.config.health_checks:
            while await check.run() is not None:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(context.stopped.wait(), _RETRY_SECONDS)
                    return
