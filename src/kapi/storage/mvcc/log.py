"""The revision log: one record per write, kept by the engine that owns it. A log decides nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from kapi.api.objects import Revision
from kapi.storage.kv import Event, KeyValue, StorageError


class Record(NamedTuple):
    """One write, in the order of the log's columns."""

    revision: int
    key: str
    created: int  # of the object: for a delete, the one that was deleted
    previous: int  # the key's revision before this write, 0 for a create
    version: int  # 0 for a delete
    lease: int
    value: bytes | None  # None for a delete

    def key_value(self) -> KeyValue:
        value = self.value if self.value is not None else b""
        return KeyValue(self.key, value, Revision(self.revision), Revision(self.created), self.version, self.lease)

    def event(self, before: bytes | None) -> Event:
        created, previous = Revision(self.created), Revision(self.previous)
        return Event(self.key, Revision(self.revision), self.value, before, created, previous)


class Log(Protocol):
    """Reads are synchronous and see every committed record; what can wait for a disk is not."""

    def append(self, records: Sequence[Record], done: Callable[[StorageError | None], None]) -> None:
        """Make all of them durable or none; `done` is called on the loop, later."""

    def read(self, revision: int) -> Record: ...

    def read_many(self, revisions: Iterable[int]) -> dict[int, Record]: ...

    async def mark_compacted(self, compacted: int, current: int) -> None:
        """Remember both: discarding may remove the newest record."""

    async def discard(self, revisions: list[int]) -> None: ...

    async def reclaim(self) -> None:
        """Give free space back, after a compaction's last discard."""

    async def save_lease(self, lease: int, expires: float) -> None: ...

    async def drop_lease(self, lease: int) -> None: ...
