"""`kapi db check` and `kapi db backup`: from any process, also while the server runs, without touching its lock."""

from __future__ import annotations

import os
import sqlite3

from kapi.storage.kv import Unavailable
from kapi.storage.sqlite.errors import translate
from kapi.storage.sqlite.schema import MIGRATIONS, connect_reader, read_meta, schema_version

_SHOWN = 20  # of each kind of fault
_INVARIANTS = (
    (
        "a revision from the future",
        "SELECT rev, key FROM log WHERE rev < 1 OR created > rev OR previous >= rev",
    ),
    (
        "a create that does not begin its object",
        "SELECT rev, key FROM log WHERE value IS NOT NULL AND (previous = 0) != (created = rev)",
    ),
    (
        "a version that does not fit its write",
        "SELECT rev, key FROM log WHERE (value IS NULL) != (version = 0) OR (previous = 0) != (version = 1)",
    ),
    (
        "a predecessor that is missing or another key's",
        """SELECT rev, key FROM (
            SELECT rev, key, previous, lag(CASE WHEN value IS NULL THEN 0 ELSE rev END, 1, -1) OVER keys AS before
            FROM log WINDOW keys AS (PARTITION BY key ORDER BY rev))
        WHERE before != previous AND NOT (before = -1
            AND (previous = 0 OR rev <= (SELECT value FROM meta WHERE name = 'compacted')))""",
    ),
    (
        "a lease that is not known",
        """SELECT rev, key FROM log WHERE lease != 0 AND lease NOT IN (SELECT id FROM lease)
        AND rev IN (SELECT max(rev) FROM log GROUP BY key)""",
    ),
)


def check(path: str | os.PathLike[str]) -> list[str]:
    """Every fault found, in words; none is a sound database."""
    path = os.fspath(path)
    if not os.path.exists(path):
        return [f"{path}: there is no such file"]
    try:
        connection = connect_reader(path)
    except sqlite3.Error as error:
        return [f"{path}: {error}"]
    try:
        return _faults(connection)
    except sqlite3.Error as error:
        return [f"{path}: {error}"]
    finally:
        connection.close()


def backup(path: str | os.PathLike[str], target: str | os.PathLike[str]) -> None:
    """Copy the store, as of one moment, to a file that must not be there yet: whole and on the disk, or not at all."""
    path, target = os.fspath(path), os.fspath(target)
    if os.path.exists(target):
        raise Unavailable(f"{target}: is there already: choose another name")
    if not os.path.exists(path):
        raise Unavailable(f"{path}: there is no such file")
    partial = target + ".partial"
    try:
        os.close(os.open(partial, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600))
        connection = connect_reader(path)
        try:
            connection.execute("PRAGMA query_only=0").fetchall()
            connection.execute("VACUUM INTO ?", (partial,))
        finally:
            connection.close()
        _sync(partial)
        os.rename(partial, target)
        _sync(os.path.dirname(os.path.abspath(target)))
    except (sqlite3.Error, OSError) as error:
        if os.path.exists(partial):
            os.unlink(partial)
        raise translate(error, path) from error


def _faults(connection: sqlite3.Connection) -> list[str]:
    faults = [row[0] for row in connection.execute("PRAGMA integrity_check").fetchall() if row[0] != "ok"]
    version = schema_version(connection)
    if version != len(MIGRATIONS):
        return [*faults, f"schema version {version}, this kapi knows {len(MIGRATIONS)}"]
    connection.execute("BEGIN")  # one moment for all that follows
    meta = read_meta(connection)
    if meta.keys() != {"compacted", "revision"}:
        return [*faults, f"the store's revisions are not recorded: {sorted(meta)}"]
    newest = connection.execute("SELECT max(rev) FROM log").fetchall()[0][0] or 0
    if meta["compacted"] > max(meta["revision"], newest):
        faults.append(f"compacted at {meta['compacted']}, but only at revision {max(meta['revision'], newest)}")
    for fault, query in _INVARIANTS:
        rows = connection.execute(f"{query} ORDER BY rev LIMIT {_SHOWN}").fetchall()
        faults += [f"revision {revision} of {key}: {fault}" for revision, key in rows]
    return faults


def _sync(path: str) -> None:
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
