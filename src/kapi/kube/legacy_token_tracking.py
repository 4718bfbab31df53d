"""Since when the use of tokens in Secrets is noted: a ConfigMap says, for those who clean up after them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock
from kapi.registry.store import Store
from kapi.server.hooks import HookContext

NAME = "kube-apiserver-legacy-service-account-token-tracking"
_PATH = "/api/v1/namespaces/kube-system/configmaps"
_RETRY = 0.1


class LegacyTokenTracking:
    def __init__(self, configs: Store, clock: Clock) -> None:
        self._objects = configs.objects
        self._key = configs.key("kube-system", NAME)
        self._clock = clock

    async def start(self, context: HookContext) -> None:
        context.spawn(self._keep_trying(context.client), name=NAME)

    async def _keep_trying(self, client: Client) -> None:
        """Its namespace is made by another hook."""
        while True:
            try:
                await self._ensure(client)
                return
            except errors.APIError:
                await asyncio.sleep(_RETRY)

    async def _ensure(self, client: Client) -> None:
        today = f"{datetime.fromtimestamp(self._clock.now(), UTC):%Y-%m-%d}"
        entry = await self._objects.stored(self._key)
        if entry is None:
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, "data": {"since": today}}
            await client.create(_PATH, config)
        elif not _is_day((entry.object.get("data") or {}).get("since", "")):
            await client.update(f"{_PATH}/{NAME}", {**entry.object, "data": {"since": today}})


def _is_day(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return False
    return True
