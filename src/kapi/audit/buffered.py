"""Batch mode: events are taken at once, and passed on in batches by a task of its own.

A buffer that is full loses what comes next: requests never wait for a sink that is behind.
"""

from __future__ import annotations

import asyncio
from asyncio import Event, Task
from collections import deque
from collections.abc import Sequence

from kapi.audit.batching import Batching
from kapi.audit.sink import Failures, Sink

_PLUGIN = "buffered"
_GATHER = 0.02


class Buffered:
    def __init__(self, sink: Sink, batching: Batching, failures: Failures) -> None:
        self._sink = sink
        self._batching = batching
        self._failures = failures
        self._throttle = Throttle(batching.qps, batching.burst) if batching.qps else None
        self._full, self._wait = batching.max_size, batching.max_wait
        if batching.max_size == 1 and self._throttle is None and not batching.concurrent:
            # Batches of one that follow each other at once are as good as a large one, which costs far less.
            self._full, self._wait = batching.buffer_size, _GATHER
        self._queue: deque[bytes] = deque()
        self._enough = 1  # so many events are waited for
        self._wake = Event()
        self._stopping = False
        self._worker: Task[None] | None = None
        self._sending: set[Task[bool]] = set()

    async def start(self) -> None:
        await self._sink.start()
        self._worker = asyncio.create_task(self._run(), name="audit-batches")

    async def process(self, events: Sequence[bytes]) -> bool:
        queue = self._queue
        room = 0 if self._stopping else self._batching.buffer_size - len(queue)
        queue.extend(events[:room])
        if len(queue) >= self._enough:
            self._wake.set()
        if room < len(events):
            why = "audit backend shut down" if self._stopping else "audit buffer queue blocked"
            self._failures.report(_PLUGIN, why, events[room:])
        return True

    async def stop(self) -> None:
        self._stopping = True
        self._wake.set()
        if self._worker is not None:
            await self._worker
        # A sink that is told to stop does not pause between its attempts any more.
        await self._sink.stop()
        await asyncio.gather(*self._sending)

    async def _run(self) -> None:
        while batch := await self._collect():
            if self._throttle is not None:
                await self._throttle.accept()
            if not self._batching.concurrent:
                await self._sink.process(batch)
                continue
            sending = asyncio.create_task(self._sink.process(batch))
            self._sending.add(sending)
            sending.add_done_callback(self._sending.discard)

    async def _collect(self) -> list[bytes]:
        """The next batch; empty when there will be no more."""
        await self._until(1)
        try:
            async with asyncio.timeout(self._wait):
                await self._until(self._full)
        except TimeoutError:
            pass  # then what there is will do
        count = min(len(self._queue), self._full)
        return [self._queue.popleft() for _ in range(count)]

    async def _until(self, count: int) -> None:
        self._enough = count
        while len(self._queue) < count and not self._stopping:
            self._wake.clear()
            await self._wake.wait()


class Throttle:
    """A bucket of tokens that fills at a steady rate."""

    def __init__(self, qps: float, burst: int) -> None:
        self._qps = qps
        self._burst = float(burst)
        self._tokens = float(burst)
        self._at = 0.0

    async def accept(self) -> None:
        """Take a token, waiting for one if there is none."""
        now = asyncio.get_running_loop().time()
        self._tokens = min(self._burst, self._tokens + (now - self._at) * self._qps) - 1
        self._at = now
        if self._tokens < 0:
            await asyncio.sleep(-self._tokens / self._qps)
