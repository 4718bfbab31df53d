"""Clients of webhooks, by the `clientConfig` of whoever registers one: a URL, or a service in the cluster."""

from __future__ import annotations

import base64
import binascii
import ssl
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import NamedTuple, TypeAlias
from urllib.parse import urlsplit

from kapi.api.objects import Object
from kapi.wire.client import Address, CallError, HTTPClient, Server, client_tls

USER_AGENT = b"kube-apiserver-admission"
# Where a service's port can be reached; raises CallError when it cannot. By namespace, name and port.
ResolveService: TypeAlias = Callable[[str, str, int], Awaitable[Address]]
# What a kubeconfig file says of a host: a Server whose TLS and headers are used for it.
Credentials: TypeAlias = Callable[[str], Server | None]
_KEPT = 1000


class Hook(NamedTuple):
    """A client and the path that the webhook is called by."""

    client: HTTPClient
    path: str


class HookClients:
    """One client per configuration, however many webhooks have it. The least used go first when there are many."""

    def __init__(self, resolve: ResolveService, credentials: Credentials = lambda _: None) -> None:
        self._resolve = resolve
        self._credentials = credentials
        self._hooks: OrderedDict[tuple[object, ...], Hook] = OrderedDict()

    def of(self, config: Object) -> Hook:
        """Raises CallError when the configuration's certificates cannot be read."""
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

    def _by_url(self, config: Object) -> Hook:
        parts = urlsplit(config["url"])
        server = Server(
            url=f"{parts.scheme}://{parts.netloc}",
            tls=self._tls(config, parts.hostname or ""),
            headers=self._headers(parts.netloc),
        )
        return Hook(HTTPClient(server), parts.path)

    def _by_service(self, config: Object, service: Object) -> Hook:
        namespace, name, port = service["namespace"], service["name"], service.get("port") or 443
        host = f"{name}.{namespace}.svc"

        async def resolve() -> Address:
            return await self._resolve(namespace, name, port)

        server = Server(
            url=f"https://{host}:{port}",
            tls=self._tls(config, host),
            server_name=host,
            headers=self._headers(f"{host}:{port}"),
            resolve=resolve,
        )
        return Hook(HTTPClient(server), service.get("path") or "")

    def _headers(self, host: str) -> tuple[tuple[bytes, bytes], ...]:
        known = self._credentials(host)
        return known.headers if known is not None else ()

    def _tls(self, config: Object, host: str) -> ssl.SSLContext:
        known = self._credentials(host)
        if known is not None and known.tls is not None and not config.get("caBundle"):
            return known.tls
        try:
            context = client_tls(base64.b64decode(config.get("caBundle") or ""))
        except (ssl.SSLError, binascii.Error, ValueError) as error:
            raise CallError(f"unable to load root certificates: {error}") from None
        return context
