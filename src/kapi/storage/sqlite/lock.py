"""One owner: a data directory belongs to one process at a time."""

from __future__ import annotations

import fcntl
import os

from kapi.storage.sqlite.errors import Locked


class OwnerLock:
    """An flock on a file next to the database: the kernel lets go of it when the process ends, however it ends."""

    def __init__(self, path: str) -> None:
        self._path = path + ".lock"
        self._file = -1

    def acquire(self) -> None:
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            owner = os.pread(file, 32, 0).decode(errors="replace").strip() or "unknown"
            os.close(file)
            directory = os.path.dirname(os.path.abspath(self._path))
            raise Locked(
                f"data directory {directory} is in use by process {owner}; stop it or choose another --data-dir"
            ) from None
        os.ftruncate(file, 0)
        os.pwrite(file, b"%d\n" % os.getpid(), 0)
        self._file = file

    def release(self) -> None:
        """The file stays: removing it would let two processes lock two files of that name."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
