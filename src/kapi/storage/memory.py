"""The store of a throw-away server: the embedded engine over a dict. Nothing outlives the process."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Sequence

from kapi.api.clock import Clock
from kapi.api.objects import Revision
from kapi.storage.kv import Stats, StorageError
from kapi.storage.mvcc.engine import Embedded
from kapi.storage.mvcc.log import Record

_RECORD_BYTES = 200  # a rough figure for what a record costs besides key and value


class MemoryLog:
    def __init__(self) -> None:
        self._records: dict[int, Record] = {}
        self.bytes = 0

    def append(self, records: Sequence[Record], done: Callable[[StorageError | None], None]) -> None:
        for record in records:
            self._records[record.revision] = record
            self.bytes += _size(record)
        asyncio.get_running_loop().call_soon(done, None)

    def read(self, revision: int) -> Record:
        return self._records[revision]

    def read_many(self, revisions: Iterable[int]) -> dict[int, Record]:
        return {revision: self._records[revision] for revision in revisions}

    async def mark_compacted(self, compacted: int, current: int) -> None:
        pass

    async def discard(self, revisions: list[int]) -> None:
        for revision in revisions:
            self.bytes -= _size(self._records.pop(revision))
        await asyncio.sleep(0)

    async def reclaim(self) -> None:
        pass

    async def save_lease(self, lease: int, expires: float) -> None:
        pass

    async def drop_lease(self, lease: int) -> None:
        pass


class MemoryKV(Embedded):
    """Closed and started again it goes on where it was."""

    def __init__(self, *, clock: Clock | None = None) -> None:
        self._memory = MemoryLog()
        super().__init__(self._memory, clock)

    async def stats(self) -> Stats:
        self._check_open()
        return Stats(
            revision=Revision(self._index.revision),
            compacted=Revision(self._index.compacted),
            size_bytes=self._memory.bytes,
            in_use_bytes=self._memory.bytes,
            version="memory",
        )


def _size(record: Record) -> int:
    return _RECORD_BYTES + len(record.key) + len(record.value or b"")
