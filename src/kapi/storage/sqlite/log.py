"""The revision log in SQLite: appended by the writer thread, read on the loop through a connection of its own.

A read never outlasts its call: an open read transaction would keep the WAL from being reset.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from kapi.storage.kv import StorageError, Unavailable
from kapi.storage.mvcc.log import Record
from kapi.storage.sqlite.errors import translate
from kapi.storage.sqlite.schema import connect_reader
from kapi.storage.sqlite.writer import Writer

ROWS_PER_INSERT = 64
VACUUM_PAGES = 64
SPARE_PAGES = 2048
RECENT_BYTES = 8 << 20

_ROW = "(?,?,?,?,?,?,?)"
_INSERTS = tuple("INSERT INTO log VALUES" + ",".join([_ROW] * n) for n in range(ROWS_PER_INSERT + 1))
_SELECT = "SELECT rev, key, created, previous, version, lease, value FROM log WHERE rev"
_READ = f"{_SELECT} = ?"
_READ_MANY = f"{_SELECT} IN (SELECT value FROM json_each(?))"
_READ_RUN = f"{_SELECT} BETWEEN ? AND ?"
_DISCARD = "DELETE FROM log WHERE rev IN (SELECT value FROM json_each(?))"
_MARK = "UPDATE meta SET value = max(value, ?) WHERE name = ?"


class SQLiteLog:
    def __init__(self, path: str) -> None:
        self._path = path
        self._writer: Writer
        self._reader: sqlite3.Connection | None = None
        self._idle_pages = 0
        self._recent: dict[int, Record] = {}
        self._recent_bytes = 0

    def open(self, writer: Writer) -> None:
        self._writer = writer
        self._reader = connect_reader(self._path)

    def close(self) -> None:
        if self._reader is not None:
            self._reader.close()
            self._reader = None

    def append(self, records: Sequence[Record], done: Callable[[StorageError | None], None]) -> None:
        def appended(_: None, error: StorageError | None) -> None:
            if error is None:
                self._remember(records)
            done(error)

        self._writer.submit(lambda connection: insert(connection, records), appended)

    def read(self, revision: int) -> Record:
        if recent := self._recent.get(revision):
            return recent
        rows = self.query(_READ, (revision,))
        if not rows:
            raise Unavailable(f"{self._path}: revision {revision} is missing: run `kapi db check`")
        return Record._make(rows[0])

    def read_many(self, revisions: Iterable[int]) -> dict[int, Record]:
        wanted = sorted(revisions)
        if wanted and wanted[-1] - wanted[0] == len(wanted) - 1:
            rows = self.query(_READ_RUN, (wanted[0], wanted[-1]))
        else:
            rows = self.query(_READ_MANY, (json.dumps(wanted),))
        found = {row[0]: Record._make(row) for row in rows}
        if len(found) < len(wanted) and (missing := set(wanted) - found.keys()):
            raise Unavailable(f"{self._path}: revision {min(missing)} is missing: run `kapi db check`")
        return found

    def query(self, statement: str, parameters: tuple[Any, ...] = ()) -> list[Any]:
        assert self._reader is not None, "the engine refuses calls before start and after close"
        try:
            return self._reader.execute(statement, parameters).fetchall()
        except sqlite3.Error as error:
            raise translate(error, self._path) from error

    def pages(self) -> tuple[int, int]:
        """All pages of the file, and the free ones among them."""
        return self.query("PRAGMA page_count")[0][0], self.query("PRAGMA freelist_count")[0][0]

    def _remember(self, records: Sequence[Record]) -> None:
        """What was just written is what is most often compared with next; every commit empties SQLite's own cache."""
        recent = self._recent
        for record in records:
            recent[record.revision] = record
            self._recent_bytes += _weight(record)
        while self._recent_bytes > RECENT_BYTES:
            self._recent_bytes -= _weight(recent.pop(next(iter(recent))))

    async def mark_compacted(self, compacted: int, current: int) -> None:
        self._idle_pages = self.pages()[1]
        marks = [(compacted, "compacted"), (current, "revision")]
        await self._writer.run(lambda connection: _in_one(connection, _MARK, marks))

    async def discard(self, revisions: list[int]) -> None:
        await self._writer.run(lambda connection: connection.execute(_DISCARD, (json.dumps(revisions),)).rowcount)

    async def reclaim(self) -> None:
        """Give back what lay idle since the last compaction, and what is more than as much again as is in use.

        The rest is about to be written again: shrinking the file only to grow it would be all cost.
        """
        pages, free = self.pages()
        surplus = max(min(self._idle_pages, free - SPARE_PAGES), free - max(pages - free, SPARE_PAGES))
        self._idle_pages = 0
        if surplus <= 0:
            return
        while surplus > 0:
            await self._writer.run(_vacuum)
            surplus -= VACUUM_PAGES
        await self._writer.run(lambda connection: connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchall())

    async def save_lease(self, lease: int, expires: float) -> None:
        statement = "INSERT INTO lease VALUES(?, ?)"
        await self._writer.run(lambda connection: connection.execute(statement, (lease, expires)).rowcount)

    async def drop_lease(self, lease: int) -> None:
        statement = "DELETE FROM lease WHERE id = ?"
        await self._writer.run(lambda connection: connection.execute(statement, (lease,)).rowcount)


def insert(connection: sqlite3.Connection, records: Sequence[Record]) -> None:
    """One statement is its own transaction: the thread needs the GIL once before the disk and once after."""
    if len(records) <= ROWS_PER_INSERT:
        connection.execute(_INSERTS[len(records)], [column for record in records for column in record])
        return
    connection.execute("BEGIN IMMEDIATE")
    for i in range(0, len(records), ROWS_PER_INSERT):
        some = records[i : i + ROWS_PER_INSERT]
        connection.execute(_INSERTS[len(some)], [column for record in some for column in record])
    connection.execute("COMMIT")


def _in_one(connection: sqlite3.Connection, statement: str, rows: list[tuple[int, str]]) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.executemany(statement, rows)
    connection.execute("COMMIT")


def _vacuum(connection: sqlite3.Connection) -> None:
    # Not `execute`: it stops after the statement's first row, which is one page.
    connection.executescript(f"PRAGMA incremental_vacuum({VACUUM_PAGES})")


def _weight(record: Record) -> int:
    return len(record.value or b"") + 400
