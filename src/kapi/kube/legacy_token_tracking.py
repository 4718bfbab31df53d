"""Since when the use of tokens in Secrets is noted: a ConfigMap says, for those who clean up after them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable
from datetime import UTC, datetime

from kapi.api import errors
from kapi.api.client import Client
from kapi.api.clock import Clock
from kapi.api.objects import Object
from kapi.server.hooks import HookContext

NAME = "kube-apiserver-legacy-service-account-token-tracking"
_PATH = "/api/v1/namespaces/kube-system/configmaps"
_RETRY = 0.5


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
        try:
            found = await client.get(f"{_PATH}/{NAME}")
        except errors.NotFound:
            config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": NAME}, "data": {"since": today}}
            return await _done(client.create(_PATH, config))
        if _is_day((found.get("data") or {}).get("since", "")):
            return True
        return await _done(client.update(f"{_PATH}/{NAME}", {**found, "data": {"since": today}}))


async def _done(write: Awaitable[Object]) -> bool:
    try:
        await write
    except errors.APIError:
        return False
    return True


def _is_day(text: str) -> bool:
    try:
        datetime.strptime(text, "%Y-%m-%d").replace(tzinfo=UTC)
    except ValueError:
        return False
    return True
