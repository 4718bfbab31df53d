"""A layer over an engine: what changes values on their way in and out derives from it, and need not name the rest."""

from __future__ import annotations

from kapi.api.objects import Revision
from kapi.storage import kv


class Layer:
    """The `kv.KV` methods that carry no value, passed on to the engine below; its owner opens and closes it."""

    def __init__(self, engine: kv.KV) -> None:
        self._engine = engine
        self.in_step = engine.in_step

    @property
    def supports_progress(self) -> bool:
        return self._engine.supports_progress

    @property
    def current(self) -> Revision:
        return self._engine.current

    async def start(self) -> None:
        await self._engine.start()

    async def close(self) -> None:
        await self._engine.close()

    async def count(self, prefix: str) -> int:
        return await self._engine.count(prefix)

    async def revision(self) -> Revision:
        return await self._engine.revision()

    async def grant(self, ttl: int) -> int:
        return await self._engine.grant(ttl)

    async def compact(self, revision: Revision) -> None:
        await self._engine.compact(revision)

    async def stats(self) -> kv.Stats:
        return await self._engine.stats()
