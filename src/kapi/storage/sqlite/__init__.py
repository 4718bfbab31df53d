"""SQLite, the embedded default: one process, one file, no server to run."""

from kapi.storage.sqlite.engine import SQLiteKV
from kapi.storage.sqlite.errors import Damaged, Locked
from kapi.storage.sqlite.maintenance import backup, check

__all__ = ["Damaged", "Locked", "SQLiteKV", "backup", "check"]
