"""The aggregator: the first server that a request meets. It answers for API services and passes on the rest."""

from __future__ import annotations

from collections.abc import Awaitable, Iterator

from kapi.aggregator import apiservices
from kapi.aggregator.autoregister import AUTOMANAGED, register_local
from kapi.aggregator.availability import Availability
from kapi.api.call import Call
from kapi.api.gvk import GroupResource, GroupVersion
from kapi.api.objects import Object
from kapi.endpoints.discovery import Catalogue, GroupVersionEntry
from kapi.endpoints.install import Installer
from kapi.endpoints.priorities import PRIORITIES
from kapi.server.config import GenericConfig
from kapi.server.delegation import Delegate
from kapi.server.hooks import HookContext
from kapi.server.server import GenericServer
from kapi.storage.cacher.entry import Entry
from kapi.wire.messages import Response, text

_APISERVICES = GroupResource("apiregistration.k8s.io", "apiservices")


class AggregatorServer(GenericServer):
    def __init__(self, config: GenericConfig, delegate: Delegate, installer: Installer, catalogue: Catalogue) -> None:
        super().__init__("kube-aggregator", config, delegate)
        self._catalogue = catalogue
        installed = installer.install([apiservices.resource(config.clock)], PRIORITIES)
        self.api_groups.update({(gv.group, gv.version): h for gv, h in installed.handlers.items()})
        self._cache = installed.stores[_APISERVICES].objects.cacher
        entries = [handler.entry for handler in installed.handlers.values()]
        catalogue.add(lambda: entries)
        catalogue.add(self._registered)
        self.add_post_start_hook("kube-apiserver-autoregistration", self._register)
        self.add_post_start_hook("apiservice-status-remote-available-controller", self._watch_availability)

    def handle(self, call: Call) -> Awaitable[Response]:
        info = call.info
        if info.api_group and info.api_version:
            entry = self._cache.get(f"{self._cache.prefix}{info.api_version}.{info.api_group}")
            if entry is not None and _spec(entry).get("service"):
                return _unavailable()
        return super().handle(call)

    def _registered(self) -> Iterator[GroupVersionEntry]:
        """The group-versions that somebody registered: other servers', and names that nobody serves."""
        for entry in self._cache.select(self._cache.prefix):
            if AUTOMANAGED not in entry.labels:
                spec = _spec(entry)
                yield GroupVersionEntry(
                    group_version=GroupVersion(spec.get("group", ""), spec["version"]),
                    resources=(),
                    priority=spec["groupPriorityMinimum"],
                    version_priority=spec["versionPriority"],
                )

    async def _register(self, context: HookContext) -> None:
        await register_local(context.client, self._catalogue)

    async def _watch_availability(self, context: HookContext) -> None:
        context.spawn(Availability(context.client, self.config.clock).run(), name="apiservice-availability")


def _spec(entry: Entry) -> Object:
    """Decoded once per revision: every request for a named group asks for it."""
    if entry.renderings is None:
        entry.renderings = {}
    spec: Object | None = entry.renderings.get("spec")
    if spec is None:
        spec = entry.renderings["spec"] = entry.object["spec"]
    return spec


async def _unavailable() -> Response:
    return text(503, "service unavailable\n")
