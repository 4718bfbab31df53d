"""The Kube server: the built-in resources over the generic server."""

from __future__ import annotations

from dataclasses import replace

from kapi.api.gvk import GroupResource
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.install import Installer
from kapi.endpoints.openapi.routes import OpenAPI
from kapi.endpoints.priorities import PRIORITIES
from kapi.kube.bootstrap import install_bootstrap
from kapi.kube.flow_control import install_flow_control
from kapi.kube.legacy_token_tracking import LegacyTokenTracking
from kapi.kube.resources import RESOURCES
from kapi.kube.security import Security
from kapi.kube.service_controllers import ServiceControllers
from kapi.kube.system_namespaces import create_system_namespaces
from kapi.registry.store import Store
from kapi.server.config import GenericConfig
from kapi.server.delegation import Delegate
from kapi.server.server import GenericServer

NAMESPACES, SERVICES = GroupResource("", "namespaces"), GroupResource("", "services")


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
        hooks = {SERVICES: services.allocation}
        resources = [replace(r, hooks=hooks.get(r.group_resource, r.hooks)) for r in RESOURCES]
        installed = installer.install(security.resources(resources, config.clock), PRIORITIES)
        self.stores: dict[GroupResource, Store] = dict(installed.stores)
        self.api_groups.update({(gv.group, gv.version): h for gv, h in installed.handlers.items()})
        entries = [handler.entry for handler in installed.handlers.values()]
        catalogue.add(lambda: entries)
        openapi = OpenAPI(catalogue)
        self.routes.exact["/openapi/v2"] = openapi.v2
        self.routes.exact["/openapi/v3"] = openapi.v3_index
        self.routes.add_prefix("/openapi/v3/", openapi.v3)
        services.install(self, self.stores)
        security.bind(self.routes, self.stores)
        self.add_post_start_hook("start-system-namespaces-controller", create_system_namespaces)
        self.add_post_start_hook("start-legacy-token-tracking-controller", LegacyTokenTracking(config.clock).start)
        install_bootstrap(self, self.stores)
        if config.flow_control is not None:
            install_flow_control(self, config.flow_control, self.stores)
