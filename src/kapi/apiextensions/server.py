"""The API-extensions server: custom resource definitions. It stands at the end of the delegation, before the 404."""

from __future__ import annotations

from kapi.apiextensions import definitions
from kapi.endpoints.discovery import Catalogue
from kapi.endpoints.install import Installer
from kapi.endpoints.priorities import PRIORITIES
from kapi.endpoints.root import Roots
from kapi.server.config import GenericConfig
from kapi.server.delegation import Delegate
from kapi.server.server import GenericServer


class APIExtensionsServer(GenericServer):
    def __init__(self, config: GenericConfig, delegate: Delegate, installer: Installer, catalogue: Catalogue) -> None:
        super().__init__("apiextensions-apiserver", config, delegate)
        installed = installer.install([definitions.RESOURCE], PRIORITIES)
        self.api_groups.update({(gv.group, gv.version): h for gv, h in installed.handlers.items()})
        entries = [handler.entry for handler in installed.handlers.values()]
        catalogue.add(lambda: entries)
        # The roots tell of the whole chain; they stand at its end, where no server's own group is hidden by them.
        roots = Roots(catalogue, config.external_address)
        self.routes.exact["/api"] = roots.api
        self.routes.add_prefix("/api/", roots.api, listed=False)
        self.routes.exact["/apis"] = roots.apis
        self.routes.add_prefix("/apis/", roots.apis)
