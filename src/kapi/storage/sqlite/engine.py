"""SQLiteKV: the embedded engine on a file. Durable when acknowledged, through kill -9 and power loss."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator

from kapi.api.clock import Clock
from kapi.api.objects import Revision
from kapi.storage.kv import Stats
from kapi.storage.mvcc.engine import Embedded
from kapi.storage.sqlite.errors import translate
from kapi.storage.sqlite.lock import OwnerLock
from kapi.storage.sqlite.log import SQLiteLog
from kapi.storage.sqlite.schema import PAGE_BYTES, read_meta
from kapi.storage.sqlite.writer import Writer

_WRITES = "SELECT CASE WHEN value IS NULL THEN -rev ELSE rev END, key, lease FROM log ORDER BY rev"


class SQLiteKV(Embedded):
    """Started once; another one opens the file again. `quota_bytes` bounds the file: beyond it writes get NoSpace."""

    def __init__(self, path: str | os.PathLike[str], *, clock: Clock | None = None, quota_bytes: int = 0) -> None:
        self.path = os.fspath(path)
        self._sqlite = SQLiteLog(self.path)
        super().__init__(self._sqlite, clock)
        self._quota_bytes = quota_bytes
        self._owner = OwnerLock(self.path)
        self._writer: Writer | None = None

    async def start(self) -> None:
        try:
            os.makedirs(os.path.dirname(os.path.abspath(self.path)), mode=0o700, exist_ok=True)
            self._owner.acquire()
            writer = Writer(self.path, self._quota_bytes)
            await writer.open()
            self._writer = writer
            leases = await writer.run(self._load)
            self._sqlite.open(writer)
        except (OSError, sqlite3.Error) as error:
            await self._shut()
            raise translate(error, self.path) from error
        except BaseException:
            await self._shut()
            raise
        for lease, expires in leases:
            self._leases.add(lease, expires)
        await super().start()

    async def close(self) -> None:
        try:
            await super().close()
        finally:
            await self._shut()

    async def stats(self) -> Stats:
        self._check_open()
        pages, free = self._sqlite.pages()
        return Stats(
            revision=Revision(self._index.revision),
            compacted=Revision(self._index.compacted),
            size_bytes=pages * PAGE_BYTES + self._wal_bytes(),
            in_use_bytes=(pages - free) * PAGE_BYTES,
            version=f"sqlite {sqlite3.sqlite_version}",
        )

    def metrics(self) -> dict[str, int]:
        """Figures for the telemetry layer, by name."""
        self._check_open()
        pages, free = self._sqlite.pages()
        return {
            "revision": self._index.revision,
            "compacted_revision": self._index.compacted,
            "compaction_lag_revisions": self._purge.lag,
            "keys": self._index.live_keys(),
            "leases": len(self._leases),
            "watches": len(self._watchers),
            "commits_total": self._commits,
            "file_bytes": pages * PAGE_BYTES,
            "free_bytes": free * PAGE_BYTES,
            "wal_bytes": self._wal_bytes(),
        }

    def _load(self, connection: sqlite3.Connection) -> list[tuple[int, float]]:
        """Fill the index, in the writer's thread: nobody else looks at it yet."""
        meta = read_meta(connection)
        leased: dict[str, int] = {}
        writes = _noting_leases(connection.execute(_WRITES), leased)
        self._index.load(writes, revision=meta["revision"], compacted=meta["compacted"])
        leases: list[tuple[int, float]] = connection.execute("SELECT id, expires FROM lease").fetchall()
        for key, lease in leased.items():
            self._leases.attach(lease, key)
        return leases

    async def _shut(self) -> None:
        if self._writer is not None:
            self._sqlite.close()
            await self._writer.close()
            self._writer = None
        self._owner.release()

    def _wal_bytes(self) -> int:
        try:
            return os.stat(self.path + "-wal").st_size
        except FileNotFoundError:
            return 0


def _noting_leases(rows: Iterator[tuple[int, str, int]], leased: dict[str, int]) -> Iterator[tuple[int, str]]:
    """The newest write of a key decides its lease."""
    for revision, key, lease in rows:
        if lease:
            leased[key] = lease
        elif leased:
            leased.pop(key, None)
        yield revision, key
