"""The API-extensions server: custom resource definitions and what they define.

It stands at the end of the delegation, before the 404.
"""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.apiextensions import definitions
from kapi.apiextensions.conversion import Conversions
from kapi.apiextensions.served import Served
from kapi.apiextensions.serving import CustomResources
from kapi.apiextensions.upkeep import Upkeep
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.install import Installer
from kapi.endpoints.priorities import PRIORITIES
from kapi.endpoints.root import Roots
from kapi.server.config import GenericConfig
from kapi.server.delegation import Delegate
from kapi.server.hooks import HookContext
from kapi.server.server import GenericServer
from kapi.wire.messages import Response

_LOAD_SECONDS = 30.0


class APIExtensionsServer(GenericServer):
    def __init__(
        self,
        config: GenericConfig,
        delegate: Delegate,
        installer: Installer,
        catalogue: Catalogue,
        conversions: Conversions,
    ) -> None:
        super().__init__("apiextensions-apiserver", config, delegate)
        installed = installer.install([definitions.RESOURCE], PRIORITIES)
        self.api_groups.update({(gv.group, gv.version): h for gv, h in installed.handlers.items()})
        entries = [handler.entry for handler in installed.handlers.values()]
        catalogue.add(lambda: entries)
        store = installed.stores[definitions.RESOURCE.group_resource]
        self._installer = installer
        self._upkeep = Upkeep(config.clock)
        self.served = Served(store.objects.cacher, installer, conversions, self._upkeep.put)
        self._custom = CustomResources(self.served, installer.settings)
        catalogue.add(self.served.entries)
        self.add_post_start_hook("start-apiextensions-informers", self._load)
        self.add_post_start_hook("start-apiextensions-controllers", self._start)
        self.add_post_start_hook("crd-informer-synced", self._load)
        # The roots tell of the whole chain; they stand at its end, where no server's own group is hidden by them.
        roots = Roots(catalogue, config.external_address)
        self.routes.exact["/api"] = roots.api
        self.routes.add_prefix("/api/", roots.api, listed=False)
        self.routes.exact["/apis"] = roots.apis
        self.routes.add_prefix("/apis/", roots.apis)

    def handle(self, call: Call) -> Awaitable[Response]:
        info = call.info
        if info.api_prefix == "apis" and (info.api_group, info.api_version) not in self.api_groups:
            if not self.served.loaded:
                return self._handle_once_loaded(call)
            if info.api_version and self.served.has_group_version(info.api_group, info.api_version):
                return self._custom(call)
        return super().handle(call)

    async def _handle_once_loaded(self, call: Call) -> Response:
        await self.served.load(_LOAD_SECONDS)
        return await self.handle(call)

    async def _load(self, _: HookContext) -> None:
        """Serve all definitions that are there already."""
        await self.served.load(_LOAD_SECONDS)

    async def _start(self, context: HookContext) -> None:
        await self._load(context)
        context.spawn(self._upkeep.run(self.served, context.client, self._installer), "definition-upkeep")
