"""Physical compaction: what the compacted revision made unreachable leaves the log, a little at a time."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import contextmanager

from kapi.storage.kv import StorageError
from kapi.storage.mvcc.index import KeyIndex
from kapi.storage.mvcc.log import Log
from kapi.telemetry.log import log as journal

ROWS_AT_ONCE = 500


class Purge:
    def __init__(self, index: KeyIndex, log: Log) -> None:
        self._index = index
        self._log = log
        self._readers: set[asyncio.Future[None]] = set()
        self._garbage: Iterator[list[int]] = iter(())
        self._left: list[int] = []  # out of the index, not out of the log yet
        self._target = 0
        self._done = 0
        self.task: asyncio.Task[None] | None = None

    @property
    def lag(self) -> int:
        """How many revisions the log's cleaning is behind the compacted revision."""
        return self._index.compacted - self._done

    def start(self) -> None:
        if self.task is None or self.task.done():
            self.task = asyncio.get_running_loop().create_task(self._run())

    @contextmanager
    def held_back(self) -> Iterator[None]:
        """A read that lets the loop go round: what it has found in the index stays in the log until it is through."""
        reader: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._readers.add(reader)
        try:
            yield
        finally:
            self._readers.discard(reader)
            reader.cancel()

    async def _run(self) -> None:
        try:
            await self._sweep()
            while self._target < self._index.compacted:
                self._target = self._index.compacted
                self._garbage = self._index.garbage(self._target, ROWS_AT_ONCE)
                if self._readers:
                    await asyncio.wait(self._readers)
                await self._sweep()
            await self._log.reclaim()
        except StorageError as error:
            # The next compaction, or the next start, goes on from here.
            journal.warning("compaction_failed", error=str(error), lag=self.lag)

    async def _sweep(self) -> None:
        if self._left:
            await self._log.discard(self._left)
        for revisions in self._garbage:
            self._left = revisions
            if revisions:
                await self._log.discard(self._left)
            else:
                await asyncio.sleep(0)
        self._left = []
        self._done = self._target
