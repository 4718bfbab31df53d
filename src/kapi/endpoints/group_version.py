"""The handler of one group-version: from a request's path and method to the function that answers it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias

from kapi.api.call import Call
from kapi.api.errors import APIError, MethodNotAllowed, UnknownResource
from kapi.api.request_info import RequestInfo
from kapi.api.settings import Settings
from kapi.endpoints import discovery
from kapi.endpoints.endpoint import Endpoint
from kapi.endpoints.failures import failure
from kapi.endpoints.reading import get, list_
from kapi.endpoints.subresources import act, connect, view_get, view_patch, view_update
from kapi.endpoints.virtual import virtual
from kapi.endpoints.watch import watch
from kapi.endpoints.writing import create, delete, delete_collection, patch, update
from kapi.registry.resource import Subresource, View
from kapi.wire.messages import Response

Verb: TypeAlias = Callable[[Call, Endpoint], Awaitable[Response]]
_Asked: TypeAlias = tuple[str, str, bool, bool, bool]

_COLLECTION: Mapping[str, str] = {"GET": "list", "POST": "create", "DELETE": "deletecollection"}
_ITEM: Mapping[str, str] = {"GET": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}

VERBS: Mapping[str, Verb] = {
    "get": get,
    "list": list_,
    "watch": watch,
    "create": create,
    "update": update,
    "patch": patch,
    "delete": delete,
    "deletecollection": delete_collection,
}


VIEW_VERBS: Mapping[str, Callable[[Call, Endpoint, View], Awaitable[Response]]] = {
    "get": view_get,
    "update": view_update,
    "patch": view_patch,
}


class GroupVersionHandler:
    """Serves the resources of one group-version, and their discovery document."""

    def __init__(
        self, endpoints: Mapping[str, Endpoint], entry: discovery.GroupVersionEntry, settings: Settings
    ) -> None:
        self._endpoints = endpoints
        self._settings = settings
        self._plain: dict[_Asked, tuple[Verb, Endpoint]] = {}  # what was found to be served, by what was asked
        self.entry = entry

    async def __call__(self, call: Call) -> Response:
        call.settings = self._settings
        try:
            return await self._serve(call)
        except APIError as error:
            return failure(call, error)

    def _serve(self, call: Call) -> Awaitable[Response]:
        info = call.info
        if not info.is_resource_request:
            return discovery.answer(call, discovery.api_resource_list(self.entry))
        endpoint = self._endpoints.get(info.resource)
        if endpoint is None or info.verb == "proxy":  # the legacy path, gone long ago
            raise UnknownResource
        if info.subresource:
            subresource = endpoint.resource.subresources.get(info.subresource)
            if subresource is None:
                raise UnknownResource
            if len(info.parts) > 3 and not (subresource.connect and subresource.connect.with_path):
                raise UnknownResource
            return self._subresource(call, endpoint, subresource)
        _check_scope(info, endpoint)  # by the names themselves, so it is no part of what is remembered
        asked = (info.resource, call.request.method, info.verb == "watch", bool(info.name), bool(info.namespace))
        found = self._plain.get(asked)
        if found is not None:
            return found[0](call, found[1])
        _check_served(info, endpoint)
        verb = _verb(call, endpoint)
        if verb not in endpoint.resource.names.verbs:
            raise _not_offered(call, endpoint, verb)
        _tell_deprecated(call, endpoint)
        resource = endpoint.resource.virtual
        if resource is not None:
            return virtual(call, endpoint, verb, resource)
        if not endpoint.resource.deprecated:
            self._plain[asked] = (VERBS[verb], endpoint)
        return VERBS[verb](call, endpoint)

    def _subresource(self, call: Call, endpoint: Endpoint, subresource: Subresource) -> Awaitable[Response]:
        _check_scope(call.info, endpoint)
        if call.request.method == "POST" and subresource.action is not None:
            return act(call, endpoint, subresource.action)
        if subresource.connect is not None:
            if call.request.method not in subresource.connect.methods:
                raise MethodNotAllowed
            return connect(call, endpoint, subresource.connect)
        verb = _ITEM.get(call.request.method)
        if verb is None or verb not in subresource.verbs:
            raise MethodNotAllowed
        if subresource.view is not None:
            return VIEW_VERBS[verb](call, endpoint, subresource.view)
        return VERBS[verb](call, endpoint)


def _tell_deprecated(call: Call, endpoint: Endpoint) -> None:
    if endpoint.resource.deprecated:
        call.warn(endpoint.resource.deprecated)
        call.annotations["k8s.io/deprecated"] = "true"


def _not_offered(call: Call, endpoint: Endpoint, verb: str) -> APIError:
    if verb != "watch":
        return MethodNotAllowed()
    if call.info.parts and "/watch/" in call.info.path:
        return UnknownResource()  # the legacy path exists only for what can be watched
    if "list" not in endpoint.resource.names.verbs:
        return MethodNotAllowed()
    _tell_deprecated(call, endpoint)
    plural = endpoint.resource.names.plural
    error = MethodNotAllowed(f'watch is not supported on resources of kind "{plural}"')
    error.details = {"kind": plural}
    return error


_ITEM_VERBS = frozenset(_ITEM.values())


def _verb(call: Call, endpoint: Endpoint) -> str:
    info, method = call.info, call.request.method
    if info.verb == "watch":
        if method != "GET":
            raise MethodNotAllowed
        return "watch"
    if info.name:
        verb = _ITEM.get(method)
    else:
        verb = _COLLECTION.get(method)
        # Across all namespaces one can only list and watch.
        if endpoint.resource.names.namespaced and not info.namespace and verb != "list":
            verb = None
    if verb is None:
        raise MethodNotAllowed
    return verb


def _check_served(info: RequestInfo, endpoint: Endpoint) -> None:
    """A resource that can only be created has no items, nor, in namespaces, a list of all."""
    verbs = endpoint.resource.names.verbs
    if info.name:
        served = not _ITEM_VERBS.isdisjoint(verbs)
    else:
        served = bool(info.namespace) or not endpoint.resource.names.namespaced or "list" in verbs
    if not served:
        raise UnknownResource


def _check_scope(info: RequestInfo, endpoint: Endpoint) -> None:
    if endpoint.resource.names.namespaced:
        if info.name and not info.namespace:
            raise UnknownResource
    elif info.namespace and (info.resource != "namespaces" or info.name != info.namespace):
        raise UnknownResource
