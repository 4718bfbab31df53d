"""The proxies of services and nodes: who is asked for, and why they cannot be reached. Nothing is passed on yet."""

from __future__ import annotations

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.registry.resource import Connect
from kapi.registry.store import Store, Target
from kapi.resources.core import connect_options
from kapi.resources.core.pod_connect import PROXY_METHODS, is_global, split_target
from kapi.storage.objects import Query
from kapi.wire.messages import Response

_SLICES = GroupResource("discovery.k8s.io", "endpointslices")
_PREFERRED = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")


async def service(_: Call, store: Store, target: Target) -> Response:
    name, port = split_target("service", target.name)
    unavailable = errors.ServiceUnavailable(f'no endpoints available for service "{name}"')
    if port:
        found = (await store.get(target.namespace, name)).object
        numbers = {str(p.get("port")) for p in found["spec"].get("ports") or ()}
        if port.isdecimal() and port not in numbers:
            raise errors.ServiceUnavailable(f'no service port {port} found for service "{name}"')
    slices = store.peers[_SLICES]
    listing = await slices.list(Query(scope=slices.scope(target.namespace), revision=None))
    for entry in listing.entries:
        if entry.labels.get("kubernetes.io/service-name") == name and _ready(entry.object):
            raise errors.ServiceUnavailable("the server does not pass requests on to services")
    raise unavailable


def _ready(decoded: Object) -> bool:
    endpoints = decoded.get("endpoints") or ()
    return any(e.get("addresses") and (e.get("conditions") or {}).get("ready", True) for e in endpoints)


async def node(_: Call, store: Store, target: Target) -> Response:
    name, _port = split_target("node", target.name)
    found = (await store.get("", name)).object
    addresses = (found.get("status") or {}).get("addresses") or []
    known = {a.get("type"): a.get("address", "") for a in addresses}
    chosen = next((known[kind] for kind in _PREFERRED if known.get(kind)), None)
    if chosen is None:
        raise errors.APIError(f"no preferred addresses found; known addresses: {list(known.values())}")
    if not is_global(chosen):
        raise errors.BadRequest("address not allowed")
    raise errors.ServiceUnavailable("the server does not pass requests on to nodes")


SERVICE_PROXY = Connect(methods=PROXY_METHODS, run=service, with_path=True, options=connect_options.SERVICE_PROXY)
NODE_PROXY = Connect(methods=PROXY_METHODS, run=node, with_path=True, options=connect_options.NODE_PROXY)
