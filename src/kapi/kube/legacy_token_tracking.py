"""Since when the use of tokens in Secrets is noted: a ConfigMap says, for those who clean up after them."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock
from kapi.server.hooks import HookContext

NAME = "kube-apiserver-legacy-service-account-token-tracking"
_PATH = "/api/v1/namespaces/kube-system/configmaps"
_RETRY = 0.1


class LegacyTokenTracking:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    async def start(self, context: HookContext) -> None:
        context.spawn(self._keep_trying(context.client), name=NAME)

    async def _keep_trying(self, client: Client) -> None:
        """Its namespace is made by another hook."""
        while True:
            if await self._tried(client):
                return
            await asyncio.sleep(_RETRY)

    async def _tried(self, client: Client) -> bool:
        today = f"{datetime.fromtimestamp(self._clock.now(), UTC):%Y-%m-%d}"
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, "data": {"since": today}}
        try:
            # Created before it is looked for: a look would fill the cache of ConfigMaps, which nobody may need.
            await client.create(_PATH, config)
        except errors.AlreadyExists:
            return await self._corrected(client, today)
        except errors.APIError:
            return False
        return True

    async def _corrected(self, client: Client, today: str) -> bool:
        try:
            found = await client.get(f"{_PATH}/{NAME}")
            if not _is_day((found.get("data") or {}).get("since", "")):
                await client.update(f"{_PATH}/{NAME}", {**found, "data": {"since": today}})
        except errors.APIError:
            return False
        return True


def _is_day(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return False
    return True
