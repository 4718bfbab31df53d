"""Clients of webhooks, by the `clientConfig` of whoever registers one: a URL, or a service in the cluster."""

from __future__ import annotations

import base64
import binascii
import posixpath
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from kapi.api.objects import Object
from kapi.proxy.kubeconfig import NOBODY, Credentials
from kapi.wire.client import Address, CallError, HTTPClient, Server

USER_AGENT = b"kube-apiserver-admission"
# Where a service's port can be reached; raises CallError when it cannot. By namespace, name and port.
ResolveService: TypeAlias = Callable[[str, str, int], Awaitable[Address]]
# Who this server is to another, by its host and port.
CredentialsFor: TypeAlias = Callable[[str], Credentials]
_KEPT = 1000


class NoClient(CallError):
    """Nobody can be called: the configuration makes no client."""


class Hook(NamedTuple):
    """A client and the path that the webhook is called by."""

    client: HTTPClient
    path: str


class HookClients:
    """One client per configuration, however many webhooks have it. The least used go first when there are many."""

    def __init__(self, resolve: ResolveService, credentials: CredentialsFor = lambda _: NOBODY) -> None:
        self._resolve = resolve
        self._credentials = credentials
        self._hooks: OrderedDict[tuple[object, ...], Hook] = OrderedDict()

    def of(self, config: Object) -> Hook:
        """Raises NoClient when the configuration's certificates cannot be read."""
        service = config.get("service") or {}
        key = (
            config.get("url"),
            config.get("caBundle"),
            *(service.get(k) for k in ("namespace", "name", "port", "path")),
        )
        hook = self._hooks.get(key)
        if hook is None:
            hook = self._hooks[key] = self._by_service(config, service) if service else self._by_url(config)
            if len(self._hooks) > _KEPT:
                self._hooks.popitem(last=False)[1].client.close()
        else:
            self._hooks.move_to_end(key)
        return hook

    def close(self) -> None:
        for hook in self._hooks.values():
            hook.client.close()

    def with_credentials(self, credentials: CredentialsFor) -> HookClients:
        """The same way to servers, as somebody else."""
        return HookClients(self._resolve, credentials)

    def _by_url(self, config: Object) -> Hook:
        parts = urlsplit(config["url"])
        credentials = self._credentials(f"{parts.hostname}:{parts.port or 443}")
        url = f"{parts.scheme}://{parts.netloc}"
        server = Server(url=url, tls=_tls(config, credentials), headers=credentials.headers)
        return Hook(HTTPClient(server), _clean(parts.path))

    def _by_service(self, config: Object, service: Object) -> Hook:
        namespace, name, port = service["namespace"], service["name"], service.get("port") or 443
        host = f"{name}.{namespace}.svc"
        credentials = self._credentials(f"{host}:{port}")

        async def resolve() -> Address:
            return await self._resolve(namespace, name, port)

        server = Server(
            url=f"https://{host}:{port}",
            tls=_tls(config, credentials),
            server_name=host,
            headers=credentials.headers,
            resolve=resolve,
        )
        return Hook(HTTPClient(server), _clean(service.get("path") or ""))


def _clean(path: str) -> str:
    """As Go's path.Join makes it: from the root, without dots and empty parts."""
    return "/" + posixpath.normpath("/" + path).lstrip("/")


def _tls(config: Object, credentials: Credentials) -> ssl.SSLContext:
    try:
        return credentials.tls(base64.b64decode(config.get("caBundle") or ""))
    except (ssl.SSLError, binascii.Error, ValueError):
        raise NoClient("unable to load root certificates: unable to parse bytes as PEM block") from None
