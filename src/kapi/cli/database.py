"""`kapi db`: the embedded store's file, checked and copied, also while a server uses it."""

from __future__ import annotations

from pathlib import Path

from kapi.cli.console import Console, size
from kapi.cli.home import Home
from kapi.cli.problem import EXIT_FAILED, Problem


def check(home: Home, console: Console) -> int:
    """0: the database is sound. 1: it is not, and this is what is wrong."""
    from kapi.storage import sqlite

    path = _database(home)
    faults = list(sqlite.check(path))
    document = {"database": str(path), "sound": not faults, "faults": faults}
    if not faults:
        console.result([f"{path} is sound ({size(path.stat().st_size)})"], document)
        return 0
    advice = "Keep a copy of the directory, then restore the last backup made with `kapi db backup`."
    console.result([f"{path} is damaged:", *(f"  {fault}" for fault in faults), advice], document)
    return EXIT_FAILED


def backup(home: Home, target: Path, console: Console) -> int:
    from kapi.storage import sqlite

    path = _database(home)
    if target.exists():
        raise Problem(f"{target} exists already", "Name a file that does not, or remove it first.")
    if not target.absolute().parent.is_dir():
        raise Problem(f"{target.absolute().parent} is not a directory", "Create it first, or name another file.")
    sqlite.backup(path, target)
    written = target.stat().st_size
    document = {"database": str(path), "backup": str(target.absolute()), "bytes": written}
    console.result([f"{path} is copied to {target} ({size(written)})"], document)
    return 0


def _database(home: Home) -> Path:
    path = home.database
    if not path.exists():
        raise Problem(f"there is no database in {home.directory}", "Name the data directory with --data-dir.")
    return path
