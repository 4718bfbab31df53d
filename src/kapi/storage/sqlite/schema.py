"""The file: its tables, their versions, and the settings of every connection to it.

Only the writer's connection checkpoints: SQLite before 3.51.3 can lose a WAL reset when two do.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from urllib.parse import quote

from kapi.storage.kv import Unavailable

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        "CREATE TABLE log(rev INTEGER PRIMARY KEY, key TEXT NOT NULL, created INTEGER NOT NULL,"
        " previous INTEGER NOT NULL, version INTEGER NOT NULL, lease INTEGER NOT NULL, value BLOB)",
        "CREATE TABLE lease(id INTEGER PRIMARY KEY, expires REAL NOT NULL)",
        "CREATE TABLE meta(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
        "INSERT INTO meta VALUES('compacted', 0), ('revision', 1)",
    ),
)

PAGE_BYTES = 8192
CHECKPOINT_PAGES = 2000
# Page size and vacuum mode only count before the file's first table, vacuum mode only before WAL.
_WRITER_PRAGMAS = (
    f"page_size={PAGE_BYTES}",
    "auto_vacuum=INCREMENTAL",
    "journal_mode=WAL",
    "synchronous=FULL",
    "fullfsync=1",
    f"wal_autocheckpoint={CHECKPOINT_PAGES}",
    "journal_size_limit=67108864",
    "cache_size=-4096",
    "temp_store=MEMORY",
    "busy_timeout=5000",
)
_READER_PRAGMAS = ("query_only=1", "wal_autocheckpoint=0", "cache_size=-16384", "busy_timeout=5000")


def connect_writer(path: str, quota_bytes: int = 0) -> sqlite3.Connection:
    """Open, create and migrate. The file holds secrets: it is its owner's alone."""
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, isolation_level=None, cached_statements=256)
    try:
        for pragma in _WRITER_PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()
        migrate(connection, path)
        if quota_bytes:
            connection.execute(f"PRAGMA max_page_count={max(quota_bytes // PAGE_BYTES, 1)}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def connect_reader(path: str) -> sqlite3.Connection:
    """A connection that cannot write, nor checkpoint when it closes."""
    uri = f"file:{quote(os.path.abspath(path))}?mode=ro"
    connection = sqlite3.connect(uri, uri=True, isolation_level=None)
    try:
        for pragma in _READER_PRAGMAS:
            connection.execute(f"PRAGMA {pragma}").fetchall()
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection, path: str, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the tables to the newest version, in place, all or nothing."""
    version = schema_version(connection)
    if version > len(migrations):
        raise Unavailable(
            f"{path}: written by a newer kapi (schema {version}, this one knows {len(migrations)}): use that version"
        )
    if version == len(migrations):
        return
    connection.execute("BEGIN IMMEDIATE")
    try:
        for statement in (statement for step in migrations[version:] for statement in step):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={len(migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def schema_version(connection: sqlite3.Connection) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchall()[0][0]
    return version


def read_meta(connection: sqlite3.Connection) -> dict[str, int]:
    return dict(connection.execute("SELECT name, value FROM meta").fetchall())
