"""The configuration: all FlowSchemas and PriorityLevelConfigurations, as the caches tell them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from kapi.api.objects import Object
from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.follower import Follower
from kapi.telemetry.log import log

FILL_SECONDS = 5.0
_RETRY = 1.0


class Configuration:
    """`changed` is told of every change that matters. Without `follow` it stays empty."""

    def __init__(self, changed: Callable[[], None]) -> None:
        self.schemas: dict[str, Object] = {}  # by key
        self.levels: dict[str, Object] = {}
        self._on_change = changed
        self._followers: list[Follower] = []
        self._lost = asyncio.Event()

    async def fill(self, schemas: Cacher, levels: Cacher) -> None:
        """Read everything, and follow it from then on; tries until it can."""
        while True:
            try:
                for cacher in (schemas, levels):
                    await cacher.started(FILL_SECONDS)
            except kv.StorageError as error:
                log.warning("flow_control_not_configured", error=str(error))
                await asyncio.sleep(_RETRY)
            else:
                break
        self._lost.clear()
        for cacher, known in ((schemas, self.schemas), (levels, self.levels)):
            known.clear()
            known.update((entry.key, entry.object) for entry in cacher.select(cacher.prefix))
            self._followers.append(Follower(cacher, self._told(known), self._lost.set))
        self._on_change()

    async def follow(self, schemas: Cacher, levels: Cacher) -> None:
        """When a cache begins anew, so does this; what was known holds until then."""
        while True:
            await self._lost.wait()
            for follower in self._followers:
                follower.stop()
            self._followers.clear()
            await self.fill(schemas, levels)

    def _told(self, known: dict[str, Object]) -> Callable[[str, Entry | None], None]:
        def changed(key: str, entry: Entry | None) -> None:
            before, now = known.pop(key, None), None if entry is None else entry.object
            if now is not None:
                known[key] = now
            if _matters(before) != _matters(now):
                self._on_change()

        return changed


def _matters(decoded: Object | None) -> object:
    """Conditions come and go without consequence."""
    return None if decoded is None else (decoded["metadata"].get("uid"), decoded["spec"])
