"""Changes: what is stored below one prefix, and then every write there, as bytes. Nothing is kept.

For those who need a little of every object and must not fill a cache for it. Told in the order of the writes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeAlias

from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.telemetry.log import log

PAGE = 500
RETRY_SECONDS = 1.0

# The key, what is there now (None: it has gone) and whether it is new: created, or found by a list.
Told: TypeAlias = Callable[[str, bytes | None, bool], None]


class Changes:
    """A kv.Sink. `began` is told before each list: what went while nobody watched is not told of."""

    wants_previous = False

    def __init__(self, store: kv.KV, prefix: str, told: Told, began: Callable[[], None]) -> None:
        self._store = store
        self._prefix = prefix
        self._told = told
        self._began = began
        self._seen = kv.NO_REVISION
        self._watch: kv.Watch | None = None
        self._lost: asyncio.Future[kv.StorageError] | None = None

    async def run(self, listed: Callable[[], None]) -> None:
        """Until cancelled; `listed` is told once everything that was there has been."""
        try:
            while True:
                try:
                    self._began()
                    await self._list()
                    listed()
                    error = await self._follow()
                    while isinstance(error, kv.Unavailable):
                        await asyncio.sleep(RETRY_SECONDS)
                        error = await self._follow()
                except kv.StorageError as failed:
                    error = failed
                    await asyncio.sleep(RETRY_SECONDS)
                log.warning("changes_restart", prefix=self._prefix, error=str(error))
        finally:
            if self._watch is not None:
                self._watch.close()

    async def _list(self) -> None:
        start, revision = "", kv.NO_REVISION
        while True:
            page = await self._store.range(self._prefix, start=start, limit=PAGE, revision=revision)
            revision = page.revision
            for item in page.items:
                self._told(item.key, item.value, True)
            if not page.more:
                break
            start = page.items[-1].key + "\0"
            await asyncio.sleep(0)
        self._seen = revision

    async def _follow(self) -> kv.StorageError:
        self._lost = asyncio.get_running_loop().create_future()
        self._watch = self._store.watch(self._prefix, self._seen, self)
        return await self._lost

    # kv.Sink

    def events(self, events: Sequence[kv.Event]) -> None:
        for event in events:
            self._told(event.key, event.value, event.created == event.revision)
            self._seen = event.revision

    def progress(self, revision: Revision) -> None:
        self._seen = max(self._seen, revision)

    def failed(self, error: kv.StorageError) -> None:
        self._watch = None
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(error)
