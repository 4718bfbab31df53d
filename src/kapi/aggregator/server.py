"""The aggregator: the first server that a request meets. It answers for API services and passes on the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator

from kapi.aggregator import apiservices
from kapi.aggregator.apiservices import spec_of
from kapi.aggregator.autoregister import AUTOMANAGED, AutoRegistration, Definitions, local_services
from kapi.aggregator.availability import Availability
from kapi.api.call import Call
from kapi.api.gvk import GroupResource, GroupVersion
from kapi.endpoints.discovery import Catalogue, GroupVersionEntry
from kapi.endpoints.install import Installer
from kapi.endpoints.priorities import PRIORITIES
from kapi.server.config import GenericConfig
from kapi.server.delegation import Delegate
from kapi.server.health import Check
from kapi.server.hooks import HookContext, nothing_to_start
from kapi.server.server import GenericServer
from kapi.telemetry.log import log
from kapi.wire.messages import Response, text

_APISERVICES = GroupResource("apiregistration.k8s.io", "apiservices")
_PATIENCE_SECONDS = 30.0


class AggregatorServer(GenericServer):
    def __init__(
        self,
        config: GenericConfig,
        delegate: Delegate,
        installer: Installer,
        catalogue: Catalogue,
        definitions: Definitions,
        *,
        has_client_certificate: bool = False,
    ) -> None:
        super().__init__("kube-aggregator", config, delegate)
        self._has_client_certificate = has_client_certificate
        installed = installer.install([apiservices.resource(config.clock)], PRIORITIES)
        self.api_groups.update({(gv.group, gv.version): h for gv, h in installed.handlers.items()})
        self._cache = installed.stores[_APISERVICES].objects.cacher
        entries = [handler.entry for handler in installed.handlers.values()]
        catalogue.add(lambda: entries)
        catalogue.add(self._registered)
        self._registration = AutoRegistration(self._cache, local_services(catalogue), definitions)
        self._add_hooks()

    def _add_hooks(self) -> None:
        """In upstream's order, which is also that of the health checks."""
        if self._has_client_certificate:
            # Nothing connects to other servers with it yet, so there is none that could be out of date.
            self.add_post_start_hook("aggregator-reload-proxy-client-cert", nothing_to_start)
        self.add_post_start_hook("start-kube-aggregator-informers", self._fill)
        # One task looks after the availability of all, local or not.
        self.add_post_start_hook("apiservice-status-local-available-controller", nothing_to_start)
        self.add_post_start_hook("apiservice-status-remote-available-controller", self._watch_availability)
        # Requests and discovery look into the cache; they can once it is filled.
        self.add_post_start_hook("apiservice-registration-controller", self._fill)
        self.add_post_start_hook("apiservice-discovery-controller", self._fill)
        self.add_post_start_hook("kube-apiserver-autoregistration", self._register)
        self.add_check(Check(name="autoregister-completion", run=self._is_registered, boot=True))
        # Documents are made when they are asked for.
        self.add_post_start_hook("apiservice-openapi-controller", nothing_to_start)
        self.add_post_start_hook("apiservice-openapiv3-controller", nothing_to_start)

    def handle(self, call: Call) -> Awaitable[Response]:
        info = call.info
        if info.api_group and info.api_version:
            entry = self._cache.get(f"{self._cache.prefix}{info.api_version}.{info.api_group}")
            if entry is not None and spec_of(entry).get("service"):
                return _unavailable()
        return super().handle(call)

    def _registered(self) -> Iterator[GroupVersionEntry]:
        """The group-versions that somebody registered: other servers', and names that nobody serves."""
        for entry in self._cache.select(self._cache.prefix):
            if AUTOMANAGED not in entry.labels:
                spec = spec_of(entry)
                yield GroupVersionEntry(
                    group_version=GroupVersion(spec.get("group", ""), spec["version"]),
                    resources=(),
                    priority=spec["groupPriorityMinimum"],
                    version_priority=spec["versionPriority"],
                )

    async def _fill(self, context: HookContext) -> None:
        while not await self._cache.filled(_PATIENCE_SECONDS) and not context.stopped.is_set():
            log.warning("apiservices_not_loaded")

    async def _register(self, context: HookContext) -> None:
        await self._fill(context)
        await self._registration.start(context.client, _PATIENCE_SECONDS)
        context.spawn(self._registration.run(context.client), name="apiservice-autoregistration")

    async def _is_registered(self) -> str | None:
        missing = sorted(self._registration.missing)
        return f"missing APIService: [{' '.join(missing)}]" if missing else None

    async def _watch_availability(self, context: HookContext) -> None:
        await self._fill(context)
        availability = Availability(self._cache, context.client, self.config.clock)
        availability.start()
        context.spawn(availability.run(), name="apiservice-availability")


async def _unavailable() -> Response:
    return text(503, "service unavailable\n")
