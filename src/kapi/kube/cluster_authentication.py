"""What other servers must know to recognize this cluster's clients and front proxies: a ConfigMap tells them.

Servers over one store may be configured differently while certificates are replaced, so each adds what it knows to
what is there, and drops only certificates that have expired.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock
from kapi.server.hooks import HookContext
from kapi.telemetry.log import log

NAME = "extension-apiserver-authentication"
_PATH = "/api/v1/namespaces/kube-system/configmaps"
_CLIENT_CA, _HEADER_CA = "client-ca-file", "requestheader-client-ca-file"
_CERTIFICATE = re.compile(r"-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----\n?", re.DOTALL)
_RETRY_SECONDS = 0.5
# How soon a changed file is told of.
_LOOK_SECONDS = 60
_SLACK_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthenticationInfo:
    """`headers` are lists by the key they are told under."""

    client_ca_file: str = ""
    header_ca_file: str = ""
    headers: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


class ClusterAuthentication:
    def __init__(self, info: AuthenticationInfo, clock: Clock) -> None:
        self._info = info
        self._clock = clock

    async def start(self, context: HookContext) -> None:
        context.spawn(self._keep(context.client), name="cluster-authentication-info")

    async def _keep(self, client: Client) -> None:
        while True:
            try:
                await self._tell(client)
                watch = client.watch(_PATH, fieldSelector=f"metadata.name={NAME}", timeoutSeconds=str(_LOOK_SECONDS))
                async for _ in watch:
                    await self._tell(client)
            except (errors.APIError, OSError) as error:
                log.debug(2, "authentication_info_not_told", error=str(error))
                await asyncio.sleep(_RETRY_SECONDS)

    async def _tell(self, client: Client) -> None:
        try:
            found = await client.get(f"{_PATH}/{NAME}")
        except errors.NotFound:
            await client.create(_PATH, {"metadata": {"name": NAME}, "data": self._combined({})})
            return
        data = found.get("data") or {}
        wanted = self._combined(data)
        if wanted != data:
            await client.update(f"{_PATH}/{NAME}", {**found, "data": wanted})

    def _combined(self, data: Mapping[str, str]) -> dict[str, str]:
        info, combined = self._info, {}
        client_ca = self._certificates(data.get(_CLIENT_CA, ""), info.client_ca_file)
        if client_ca:
            combined[_CLIENT_CA] = client_ca
        header_ca = self._certificates(data.get(_HEADER_CA, ""), info.header_ca_file)
        if header_ca:
            combined[_HEADER_CA] = header_ca
            for key, values in info.headers.items():
                known = orjson.loads(data.get(key) or b"[]")
                combined[key] = orjson.dumps(list(dict.fromkeys((*known, *values)))).decode()
        return combined

    def _certificates(self, known: str, file: str) -> str:
        own = Path(file).read_text() if file else ""
        blocks = dict.fromkeys(block.strip() + "\n" for block in _CERTIFICATE.findall(f"{known}\n{own}"))
        return "".join(self._valid(blocks))

    def _valid(self, blocks: Iterable[str]) -> Iterable[str]:
        from cryptography.x509 import load_pem_x509_certificate  # loaded already where there is a bundle

        for block in blocks:
            expires = load_pem_x509_certificate(block.encode()).not_valid_after_utc.timestamp()
            if expires > self._clock.now() - _SLACK_SECONDS:
                yield block
