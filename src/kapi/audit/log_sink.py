"""The log: one line for each event, as JSON or in the legacy format."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor

from kapi.audit.legacy import event_text
from kapi.audit.log_file import Writer
from kapi.audit.sink import Failures

_PLUGIN = "log"
# Lines are written together up to this size, which is well below the least size of a file.
_CHUNK = 256 * 1024


class LogSink:
    """`threaded` writes from a thread of its own; otherwise a line is with the system when `process` returns.

    A blocking log costs a request one write into the page cache, which is less than handing it to a thread would.
    """

    def __init__(self, writer: Writer, failures: Failures, *, legacy: bool = False, threaded: bool = False) -> None:
        self._writer = writer
        self._failures = failures
        self._legacy = legacy
        self._thread = ThreadPoolExecutor(1, "audit-log-writer") if threaded else None

    async def start(self) -> None:
        """It is opened with its first line."""

    async def process(self, events: Sequence[bytes]) -> bool:
        if self._thread is None:
            failed = self._write(events)
        else:
            failed = await asyncio.get_running_loop().run_in_executor(self._thread, self._write, events)
        for error, lost in failed:
            self._failures.report(_PLUGIN, error, lost)
        return not failed

    async def stop(self) -> None:
        if self._thread is not None:
            self._thread.shutdown()
        self._writer.close()

    def _write(self, events: Sequence[bytes]) -> list[tuple[str, Sequence[bytes]]]:
        """What could not be written, and why."""
        failed: list[tuple[str, Sequence[bytes]]] = []
        for chunk in (events,) if len(events) == 1 else _chunks(events):
            lines = [event_text(event).encode() for event in chunk] if self._legacy else chunk
            try:
                self._writer.write(b"\n".join(lines) + b"\n")
            except OSError as error:
                failed.append((str(error), chunk))
        return failed


def _chunks(events: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    chunk: list[bytes] = []
    size = 0
    for event in events:
        if chunk and size + len(event) > _CHUNK:
            yield chunk
            chunk, size = [], 0
        chunk.append(event)
        size += len(event) + 1
    yield chunk
