"""The log file: appended to, set aside when it has its size, and what was set aside compressed and removed in time.

Files that were set aside are named by when that was (`audit-2006-01-02T15-04-05.000.log`), as lumberjack names them for
upstream: whoever collects those finds these.
"""

from __future__ import annotations

import gzip
import os
import re
import shutil
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import NamedTuple, Protocol

from kapi.telemetry.log import log

_MEGABYTE = 1024 * 1024
_COMPRESSED = ".gz"
_TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d{3}", re.ASCII)


class Writer(Protocol):
    """Calls may come from a thread, but never two at a time."""

    def write(self, data: bytes) -> None:
        """Append whole lines. Raises OSError."""

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotation:
    """Zero is no limit."""

    max_size: int  # megabytes
    max_age: int  # days
    max_backups: int
    compress: bool = False


class StandardOutput:
    def write(self, data: bytes) -> None:
        _write_all(sys.stdout.fileno(), data)

    def close(self) -> None:
        """It is not ours."""


class LogFile:
    """Opened with its first line; `ensure` finds out before whether that can be."""

    def __init__(self, path: Path, rotation: Rotation) -> None:
        self._path = path
        self._rotation = rotation
        self._limit = rotation.max_size * _MEGABYTE
        self._descriptor = -1
        self._size = 0
        self._last_name = ""
        self._housekeeper = ThreadPoolExecutor(1, "audit-log") if self._limit else None

    @property
    def _keeps_all(self) -> bool:
        rotation = self._rotation
        return not (rotation.max_age or rotation.max_backups or rotation.compress)

    def ensure(self) -> None:
        """Raises OSError."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        os.close(os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_RDWR, 0o600))

    def write(self, data: bytes) -> None:
        if self._limit and len(data) > self._limit:
            raise OSError(f"write length {len(data)} exceeds maximum file size {self._limit}")
        if self._descriptor < 0:
            self._open()
            self._keep_house()
        if self._limit and self._size + len(data) > self._limit:
            self._rotate()
        _write_all(self._descriptor, data)
        self._size += len(data)

    def close(self) -> None:
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -1
        if self._housekeeper is not None:
            self._housekeeper.shutdown()

    def _open(self, mode: int = 0o600) -> None:
        self._descriptor = os.open(self._path, os.O_CREAT | os.O_APPEND | os.O_WRONLY, mode)
        self._size = os.fstat(self._descriptor).st_size

    def _rotate(self) -> None:
        mode = os.fstat(self._descriptor).st_mode & 0o777
        os.close(self._descriptor)
        self._descriptor = -1
        os.rename(self._path, self._path.with_name(self._backup_name()))
        self._open(mode)
        self._keep_house()

    def _backup_name(self) -> str:
        """No name is given twice, however soon the next file is full."""
        now = datetime.now(UTC)
        while True:
            timestamp = now.strftime("%Y-%m-%dT%H-%M-%S.") + f"{now.microsecond // 1000:03d}"
            name = f"{self._path.stem}-{timestamp}{self._path.suffix}"
            if name > self._last_name and not self._path.with_name(name).exists():
                self._last_name = name
                return name
            now += timedelta(milliseconds=1)

    def _keep_house(self) -> None:
        if self._housekeeper is not None and not self._keeps_all:
            self._housekeeper.submit(_guarded(lambda: keep_house(self._path, self._rotation)))


class _Backup(NamedTuple):
    taken: str  # the timestamp, which sorts as text
    path: Path


def keep_house(path: Path, rotation: Rotation) -> None:
    """Remove what is too old or too much of the files set aside, and compress the others."""
    backups = sorted(_backups(path), reverse=True)
    kept: list[_Backup] = []
    if rotation.max_age:
        limit = (datetime.now(UTC) - timedelta(days=rotation.max_age)).strftime("%Y-%m-%dT%H-%M-%S.000")
    else:
        limit = ""
    seen: list[str] = []
    for backup in backups:
        if backup.taken not in seen:
            seen.append(backup.taken)
        if backup.taken < limit or (rotation.max_backups and len(seen) > rotation.max_backups):
            backup.path.unlink(missing_ok=True)
        else:
            kept.append(backup)
    if rotation.compress:
        for backup in kept:
            if backup.path.suffix != _COMPRESSED:
                _compress(backup.path)


def _backups(path: Path) -> list[_Backup]:
    """What was set aside of this log, compressed or not; other files are left alone."""
    found = []
    for candidate in path.parent.glob("*"):
        name = candidate.name.removesuffix(_COMPRESSED)
        timestamp = name.removeprefix(f"{path.stem}-").removesuffix(path.suffix)
        if name == f"{path.stem}-{timestamp}{path.suffix}" and _TIMESTAMP.fullmatch(timestamp):
            found.append(_Backup(timestamp, candidate))
    return found


def _compress(path: Path) -> None:
    target = path.with_name(path.name + _COMPRESSED)
    unfinished = target.with_name(target.name + ".part")
    with path.open("rb") as source, gzip.open(unfinished, "wb") as out:
        shutil.copyfileobj(source, out)
    shutil.copymode(path, unfinished)
    unfinished.rename(target)
    path.unlink()


def _guarded(work: Callable[[], None]) -> Callable[[], None]:
    def run() -> None:
        try:
            work()
        except OSError as error:
            log.error("audit_log_not_tidied", error=str(error))

    return run


def _write_all(descriptor: int, data: bytes) -> None:
    written = os.write(descriptor, data)
    while written < len(data):
        written += os.write(descriptor, data[written:])
