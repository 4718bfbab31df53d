"""The writer thread: the only one that writes, one job after the other. Waiting for the disk releases the GIL.

After an error that leaves the disk's state unknown (a failed fsync above all) nothing is written until a restart has
read the file again: what the kernel dropped, a second fsync would not bring back.
"""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import Callable
from queue import SimpleQueue
from typing import Any, TypeVar

from kapi.storage.kv import StorageError, Unavailable
from kapi.storage.sqlite.errors import is_recoverable, translate
from kapi.storage.sqlite.schema import connect_writer
from kapi.telemetry.log import log as journal

T = TypeVar("T")
Job = Callable[[sqlite3.Connection], T]
Done = Callable[[Any, StorageError | None], None]


class Writer:
    def __init__(self, path: str, quota_bytes: int) -> None:
        self._path = path
        self._quota_bytes = quota_bytes
        self._loop = asyncio.get_running_loop()
        self._jobs: SimpleQueue[tuple[Job[Any], Done] | None] = SimpleQueue()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._thread = threading.Thread(target=self._run, name="kapi-sqlite-writer", daemon=True)

    async def open(self) -> None:
        self._thread.start()
        await self._opened

    async def close(self) -> None:
        """After the jobs that are queued; the connection's last checkpoint empties the WAL."""
        self._jobs.put(None)
        await asyncio.to_thread(self._thread.join)

    def submit(self, job: Job[Any], done: Done) -> None:
        self._jobs.put((job, done))

    async def run(self, job: Job[T]) -> T:
        future: asyncio.Future[T] = self._loop.create_future()

        def done(result: T, error: StorageError | None) -> None:
            if future.done():
                return
            if error is None:
                future.set_result(result)
            else:
                future.set_exception(error)

        self.submit(job, done)
        return await future

    def _run(self) -> None:
        try:
            connection = connect_writer(self._path, self._quota_bytes)
        except Exception as error:
            self._loop.call_soon_threadsafe(self._opened.set_exception, translate(error, self._path))
            return
        self._loop.call_soon_threadsafe(self._opened.set_result, None)
        try:
            self._work(connection)
        finally:
            connection.close()

    def _work(self, connection: sqlite3.Connection) -> None:
        broken = ""
        while (entry := self._jobs.get()) is not None:
            job, done = entry
            result = None
            failure: StorageError | None = None
            if broken:
                failure = Unavailable(broken)
            else:
                try:
                    result = job(connection)
                except Exception as error:
                    failure = translate(error, self._path)
                    if not _roll_back(connection) or not is_recoverable(error):
                        broken = f"{failure}; writes are refused until the server is restarted"
                        journal.error("store_writes_refused", path=self._path, error=str(error))
            try:
                self._loop.call_soon_threadsafe(done, result, failure)
            except RuntimeError:
                return  # the loop is gone, and with it everyone who could have been told


def _roll_back(connection: sqlite3.Connection) -> bool:
    try:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
    except sqlite3.Error:
        return False
    return not connection.in_transaction
