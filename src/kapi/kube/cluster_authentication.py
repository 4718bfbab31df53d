"""What other servers must know to recognize this cluster's clients and front proxies: a ConfigMap tells them.

Servers over one store may be configured differently while certificates are replaced, so each adds what it knows to
what is there, and drops only certificates that have expired.
"""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import orjson

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock
from kapi.registry.store import Store
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
    def __init__(self, info: AuthenticationInfo, configs: Store, clock: Clock) -> None:
        self._info = info
        self._objects = configs.objects
        self._key = configs.key("kube-system", NAME)
        self._clock = clock

    async def start(self, context: HookContext) -> None:
        context.spawn(self._keep(context.client), name="cluster-authentication-info")

    async def _keep(self, client: Client) -> None:
        changed = asyncio.Event()
        # The key alone is followed: a watch through the API would fill the cache of all ConfigMaps.
        changes = self._objects.changes(self._key, lambda *_: changed.set(), lambda: None)
        async with asyncio.TaskGroup() as group:
            group.create_task(changes.run(lambda: None))
            while True:
                changed.clear()
                seconds: float = _LOOK_SECONDS
                try:
                    await self._tell(client)
                except (errors.APIError, OSError) as error:
                    log.debug(2, "authentication_info_not_told", error=str(error))
                    seconds = _RETRY_SECONDS
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(changed.wait(), seconds)

    async def _tell(self, client: Client) -> None:
        entry = await self._objects.stored(self._key)
        if entry is None:
            await client.create(_PATH, {"metadata": {"name": NAME}, "data": self._combined({})})
            return
        found = entry.object
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
        """Those of the file, after those that others told of and that are still good."""
        own = dict.fromkeys(_blocks(Path(file).read_text() if file else ""))
        others = [block for block in dict.fromkeys(_blocks(known)) if block not in own]
        if not others:
            return "".join(own)
        kept = {block for block in others if self._is_good(block)}
        return "".join(dict.fromkeys(block for block in (*_blocks(known), *own) if block in kept or block in own))

    def _is_good(self, block: str) -> bool:
        from cryptography.x509 import load_pem_x509_certificate  # rarely needed, and slow to load

        expires = load_pem_x509_certificate(block.encode()).not_valid_after_utc.timestamp()
        return expires > self._clock.now() - _SLACK_SECONDS


def _blocks(text: str) -> list[str]:
    return [f"{block.strip()}\n" for block in _CERTIFICATE.findall(text)]
