"""Logs, commands and ports of a running pod: where they are found, and why they are not."""

from __future__ import annotations

import asyncio
import re
import socket
from ipaddress import ip_address
from urllib.parse import urlencode

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, go_quote, invalid
from kapi.api.gvk import GroupKind, GroupResource
from kapi.api.objects import Object
from kapi.api.times import TimeError, canonical_time
from kapi.registry.resource import Connect
from kapi.registry.store import Store, Target
from kapi.resources.core import connect_options
from kapi.wire.messages import Response

_PODS, _NODES = GroupResource("", "pods"), GroupResource("", "nodes")
_KUBELET_PORT = 10250
_ADDRESS_TYPES = ("Hostname", "InternalDNS", "InternalIP", "ExternalDNS", "ExternalIP")
_LOG_FLAGS = ("follow", "previous", "timestamps")
_FALSE = ("false", "0")
_INTEGER = re.compile("[+-]?[0-9]+", re.ASCII)
_MOST_DIGITS, _BEYOND = 100, 1 << 63
_NO_TIME = "0001-01-01T00:00:00Z"
_MEDIA_TYPES = "application/json, application/yaml, application/vnd.kubernetes.protobuf"


async def log(call: Call, store: Store, target: Target) -> Response:
    _check_accepts(call.request.headers.get("accept"))
    options = _log_options(call.params)
    found = _validate_log_options(options)
    if found:
        raise errors.Invalid(GroupKind("", "PodLogOptions"), target.name, found)
    pod = (await store.get(target.namespace, target.name)).object
    container = container_of(pod, str(options.get("container", "")))
    node = pod["spec"].get("nodeName")
    if not node:
        return Response(204, [])
    host, port = await kubelet_address(store, node)
    query = urlencode([(k, "true" if v is True else v) for k, v in sorted(options.items()) if k != "container"])
    path = f"/containerLogs/{target.namespace}/{target.name}/{container}"
    return await _unreachable("Get", host, port, path + (f"?{query}" if query else ""))


def _check_accepts(accept: str | None) -> None:
    """As upstream: a log is text, but only who accepts an API object may read it."""
    if not accept or "*/*" in accept or any(kind in accept for kind in _MEDIA_TYPES.split(", ")):
        return
    if "text/plain" in accept:
        raise errors.NotAcceptable(f"only the following media types are accepted: {_MEDIA_TYPES}")
    offered = f"406: Not Acceptable\n\nAvailable representations: text/plain, {_MEDIA_TYPES}"
    raise errors.NotAcceptable(offered, details={})


def _log_options(params: dict[str, list[str]]) -> dict[str, str | int | bool]:
    options: dict[str, str | int | bool] = {}
    for name in ("container", "stream"):
        if params.get(name):
            options[name] = params[name][0]
    for name in _LOG_FLAGS:
        if params.get(name) and params[name][0].lower() not in _FALSE:
            options[name] = True
    for name in ("sinceSeconds", "tailLines", "limitBytes"):
        if params.get(name):
            options[name] = _integer(params[name][0])
    if params.get("sinceTime"):
        options["sinceTime"] = _time(params["sinceTime"][0]) if params["sinceTime"][0] else _NO_TIME
    return options


def _integer(text: str) -> int:
    if not _INTEGER.fullmatch(text):
        problem = "invalid syntax"
    elif len(text) > _MOST_DIGITS or not -_BEYOND <= int(text) < _BEYOND:
        problem = "value out of range"
    else:
        return int(text)
    raise errors.BadRequest(f"strconv.ParseInt: parsing {go_quote(text)}: {problem}")


def _time(text: str) -> str:
    try:
        return canonical_time(text)
    except TimeError as error:
        raise errors.BadRequest(str(error)) from None


def _validate_log_options(options: dict[str, str | int | bool]) -> list[FieldError]:
    found: list[FieldError] = []
    tail, limit, since = (options.get(name) for name in ("tailLines", "limitBytes", "sinceSeconds"))
    if isinstance(tail, int) and tail < 0:
        found.append(invalid("tailLines", tail, "must be greater than or equal to 0"))
    if isinstance(limit, int) and limit < 1:
        found.append(invalid("limitBytes", limit, "must be greater than 0"))
    if since is not None and "sinceTime" in options:
        found.append(forbidden("[]", "at most one of `sinceTime` or `sinceSeconds` may be specified"))
    elif isinstance(since, int) and since < 1:
        found.append(invalid("sinceSeconds", since, "must be greater than 0"))
    if "stream" in options:
        found.append(forbidden("stream", "may not be specified"))
    return found


def container_of(pod: Object, wanted: str) -> str:
    """The container that is meant; a pod with one need not be told."""
    name, spec = pod["metadata"]["name"], pod["spec"]
    kinds = ("initContainers", "containers", "ephemeralContainers")
    names = [c.get("name", "") for kind in kinds for c in spec.get(kind) or ()]
    if wanted:
        if wanted not in names:
            raise errors.BadRequest(f"container {wanted} is not valid for pod {name}")
        return wanted
    regular = spec.get("containers") or []
    if len(regular) == 1:
        return str(regular[0].get("name", ""))
    choice = f", choose one of: [{' '.join(names)}]" if regular else ""
    raise errors.BadRequest(f"a container name must be specified for pod {name}{choice}")


async def kubelet_address(store: Store, node: str) -> tuple[str, int]:
    """Where the kubelet of a node listens, by the node's preferred address."""
    nodes = store.peers.get(_NODES)
    try:
        found = None if nodes is None else (await nodes.get("", node)).object
    except errors.NotFound:
        found = None
    if found is None:
        # As upstream, which names the resource that was asked for.
        raise errors.NotFound(_PODS, node)
    status = found.get("status") or {}
    port = ((status.get("daemonEndpoints") or {}).get("kubeletEndpoint") or {}).get("Port") or _KUBELET_PORT
    addresses = status.get("addresses") or []
    for kind in _ADDRESS_TYPES:
        for address in addresses:
            if address.get("type") == kind:
                return address.get("address", ""), port
    shown = " ".join(f"{{{a.get('type', '')} {a.get('address', '')}}}" for a in addresses)
    raise errors.APIError(f"no preferred addresses found; known addresses: [{shown}]")


async def _unreachable(method: str, host: str, port: int, path: str) -> Response:
    """Say why the kubelet cannot be reached."""
    shown = f"[{host}]" if ":" in host else host
    url = f"https://{shown}:{port}{path}"
    try:
        _, writer = await asyncio.open_connection(host, port)
    except socket.gaierror:
        raise errors.APIError(f'{method} "{url}": dial tcp: lookup {host}: no such host') from None
    except OSError as error:
        why = "connect: connection refused" if isinstance(error, ConnectionRefusedError) else str(error)
        raise errors.APIError(f'{method} "{url}": dial tcp {shown}:{port}: {why}') from None
    writer.close()
    raise errors.ServiceUnavailable("the server does not stream from nodes")


async def stream(call: Call, store: Store, target: Target) -> Response:
    """exec, attach and portforward: a pod's streams over an upgraded connection."""
    pod = (await store.get(target.namespace, target.name)).object
    if target.subresource != "portforward":
        container_of(pod, (call.params.get("container") or [""])[0])
    node = pod["spec"].get("nodeName")
    if not node:
        raise errors.BadRequest(f"pod {target.name} does not have a host assigned")
    host, port = await kubelet_address(store, node)
    if "upgrade" not in (call.request.headers.get("connection") or "").lower():
        raise errors.BadRequest("Upgrade request required")
    return await _unreachable("Post", host, port, f"/{target.subresource}/{target.namespace}/{target.name}")


async def proxy(_: Call, store: Store, target: Target) -> Response:
    """HTTP to a port of the pod: `scheme:name:port`."""
    name, given = split_target("pod", target.name)
    pod = (await store.get(target.namespace, name)).object
    port = int(given) if given.isdigit() else 0
    for container in pod["spec"].get("containers") or ():
        if not port and container.get("ports"):
            port = container["ports"][0].get("containerPort", 0)
    addresses = (pod.get("status") or {}).get("podIPs") or [{}]
    address = addresses[0].get("ip", "")
    if not address or not is_global(address):
        raise errors.BadRequest("address not allowed")
    return await _unreachable("Get", address, port or 80, "/")


def split_target(kind: str, name: str) -> tuple[str, str]:
    """The name and the port of `[scheme:]name[:port]`."""
    parts = name.split(":")
    if len(parts) > 3 or (len(parts) == 3 and parts[0] not in ("", "http", "https")):
        raise errors.BadRequest(f'invalid {kind} request "{name}"')
    if len(parts) == 1:
        return name, ""
    return (parts[0], parts[1]) if len(parts) == 2 else (parts[1], parts[2])


def is_global(address: str) -> bool:
    try:
        parsed = ip_address(address)
    except ValueError:
        return False
    return not (parsed.is_loopback or parsed.is_link_local or parsed.is_multicast or parsed.is_unspecified)


LOG = Connect(methods=("GET",), run=log)
EXEC, ATTACH, PORT_FORWARD = (
    Connect(methods=("GET", "POST"), run=stream, options=options)
    for options in (connect_options.EXEC, connect_options.ATTACH, connect_options.PORT_FORWARD)
)
PROXY_METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PROXY = Connect(methods=PROXY_METHODS, run=proxy, with_path=True, options=connect_options.POD_PROXY)
