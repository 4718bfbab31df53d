"""Requests for custom resources: found by their definition, answered as for built-in ones."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping

from kapi.api.call import Call
from kapi.api.errors import APIError, MethodNotAllowed, NotFound
from kapi.api.gvk import GroupResource
from kapi.api.settings import Settings
from kapi.apiextensions.definition import Definition
from kapi.apiextensions.served import Served
from kapi.endpoints import discovery
from kapi.endpoints.failures import failure
from kapi.endpoints.group_version import VERBS, VIEW_VERBS
from kapi.wire.messages import Response, text

_ACROSS_NAMESPACES = ("list", "watch")
_SUBRESOURCE_VERBS: Mapping[str, str] = {"GET": "get", "PUT": "update", "PATCH": "patch"}


class NotSupported(MethodNotAllowed):
    """A verb that this resource does not have."""

    def __init__(self, resource: GroupResource, verb: str) -> None:
        super().__init__(f'{verb} is not supported on resources of kind "{resource}"')
        self.details = {"group": resource.group, "kind": resource.resource}


class CustomResources:
    """Serves all group-versions that definitions bring."""

    def __init__(self, served: Served, settings: Settings) -> None:
        self._served = served
        self._settings = settings

    async def __call__(self, call: Call) -> Response:
        call.settings = self._settings
        try:
            return await self._serve(call)
        except APIError as error:
            return failure(call, error)

    async def _serve(self, call: Call) -> Response:
        info = call.info
        if not info.is_resource_request:
            return await self._discovery(call)
        definition = self._served.find(info.api_group, info.resource)
        if definition is None or not definition.is_served or not _in_scope(call, definition):
            return _not_here()
        version = definition.version(info.api_version)
        if version is None:
            return _not_here()
        call.warn(version.warning)
        resource = GroupResource(info.api_group, info.resource)
        endpoint = self._served.endpoint(definition, version)
        if info.subresource:
            subresource = endpoint.resource.subresources.get(info.subresource)
            if subresource is None or len(info.parts) > 3:
                raise NotFound(resource, info.name)
            verb = _SUBRESOURCE_VERBS.get(call.request.method, info.verb)
            if verb not in subresource.verbs:
                raise NotSupported(resource, info.verb)
            if subresource.view is not None:
                return await VIEW_VERBS[verb](call, endpoint, subresource.view)
            return await VERBS[verb](call, endpoint)
        if info.verb not in VERBS:
            raise NotSupported(resource, info.verb)
        return await VERBS[info.verb](call, endpoint)

    def _discovery(self, call: Call) -> Awaitable[Response]:
        info = call.info
        for entry in self._served.group_entries(info.api_group):
            if entry.group_version.version == info.api_version:
                return discovery.answer(call, discovery.api_resource_list(entry))
        raise AssertionError("a group-version that is served is told of")


def _in_scope(call: Call, definition: Definition) -> bool:
    info = call.info
    if definition.namespaced:
        return bool(info.namespace) or info.verb in _ACROSS_NAMESPACES
    return not info.namespace


def _not_here() -> Response:
    """As upstream: not this server's to answer for, and behind it there is nobody."""
    return text(404, "404 page not found\n")
