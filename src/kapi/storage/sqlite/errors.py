"""What SQLite reports, in the store's words, with what to do about it."""

from __future__ import annotations

import errno
import sqlite3

from kapi.storage.kv import NoSpace, StorageError, Unavailable

# Rolled back before anything was on its way to the disk: when the cause is gone, writing can go on.
_RECOVERABLE = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_BUSY, sqlite3.SQLITE_TOOBIG)
_READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)


class Locked(Unavailable):
    """Another process owns the data directory."""


class Damaged(Unavailable):
    """The file is not, or no longer, a database of ours."""


def translate(error: Exception, path: str) -> StorageError:
    if isinstance(error, StorageError):
        return error
    code = _code(error)
    primary = code & 0xFF
    number = error.errno if isinstance(error, OSError) else 0
    if primary == sqlite3.SQLITE_FULL or number in (errno.ENOSPC, errno.EDQUOT):
        return NoSpace(f"{path}: the disk (or the quota of the store) is full: free space and try again")
    if code == sqlite3.SQLITE_IOERR_WRITE:
        return NoSpace(f"{path}: the disk took no more data (full, over quota or failing): free space and try again")
    if primary in (sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM) or number in _READ_ONLY:
        return NoSpace(f"{path}: the file or its file system is read-only: make it writable and try again")
    if primary in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB):
        return Damaged(f"{path}: the database is damaged ({error}): run `kapi db check` and restore from a backup")
    if primary == sqlite3.SQLITE_CANTOPEN:
        return Unavailable(f"{path}: cannot be opened ({error}): check that the directory exists and is writable")
    return Unavailable(f"{path}: {error}")


def is_recoverable(error: Exception) -> bool:
    code = _code(error)
    return code & 0xFF in _RECOVERABLE or code == sqlite3.SQLITE_IOERR_WRITE


def _code(error: Exception) -> int:
    return getattr(error, "sqlite_errorcode", 0) or 0
