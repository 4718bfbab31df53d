"""The aggregator: the first server that a request meets. It answers for API services and passes on the rest."""

from __future__ import annotations

from kapi.aggregator import apiservices
from kapi.aggregator.autoregister import register_local
from kapi.aggregator.availability import Availability
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.install import Installer
from kapi.endpoints.priorities import PRIORITIES
from kapi.server.config import GenericConfig
from kapi.server.delegation import Delegate
from kapi.server.hooks import HookContext
from kapi.server.server import GenericServer


class AggregatorServer(GenericServer):
    def __init__(self, config: GenericConfig, delegate: Delegate, installer: Installer, catalogue: Catalogue) -> None:
        super().__init__("kube-aggregator", config, delegate)
        self._catalogue = catalogue
        installed = installer.install([apiservices.resource(config.clock)], PRIORITIES)
        self.api_groups.update({(gv.group, gv.version): h for gv, h in installed.handlers.items()})
        entries = [handler.entry for handler in installed.handlers.values()]
        catalogue.add(lambda: entries)
        self.add_post_start_hook("kube-apiserver-autoregistration", self._register)
        self.add_post_start_hook("apiservice-status-remote-available-controller", self._watch_availability)

    async def _register(self, context: HookContext) -> None:
        await register_local(context.client, self._catalogue)

    async def _watch_availability(self, context: HookContext) -> None:
        context.spawn(Availability(context.client, self.config.clock).run(), name="apiservice-availability")
