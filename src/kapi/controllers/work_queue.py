"""The work queue: keys, each worked on by one worker at a time, again after a while when that failed."""

from __future__ import annotations

import asyncio
import traceback
from collections import deque
from collections.abc import Awaitable, Callable

from kapi.api.errors import APIError
from kapi.storage.kv import StorageError
from kapi.telemetry.log import log

SHORTEST, LONGEST = 0.01, 60.0


class WorkQueue:
    """A key that is added while it is being worked on is worked on again afterwards; never by two at once.

    Workers come with work and go with it: a queue at rest costs nothing.
    """

    def __init__(self, name: str, reconcile: Callable[[str], Awaitable[None]], workers: int = 4) -> None:
        self._name = name
        self._reconcile = reconcile
        self._workers = workers
        self._ready: deque[str] = deque()
        self._waiting: set[str] = set()
        self._busy: set[str] = set()
        self._again: set[str] = set()
        self._later: dict[str, asyncio.TimerHandle] = {}
        self._failures: dict[str, int] = {}
        self._group: asyncio.TaskGroup | None = None
        self._active = 0

    def add(self, key: str) -> None:
        if key in self._busy:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._ready.append(key)
            self._call_workers()

    def add_after(self, key: str, seconds: float) -> None:
        """Of several times for one key the earliest counts."""
        loop = asyncio.get_running_loop()
        known = self._later.get(key)
        if known is not None:
            if known.when() <= loop.time() + seconds:
                return
            known.cancel()
        self._later[key] = loop.call_later(seconds, self._due, key)

    async def run(self) -> None:
        """Until cancelled."""
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                self._call_workers()
                await asyncio.Event().wait()
        finally:
            self._group = None
            for timer in self._later.values():
                timer.cancel()

    def _due(self, key: str) -> None:
        del self._later[key]
        self.add(key)

    def _call_workers(self) -> None:
        if self._group is not None and self._active < min(self._workers, len(self._ready) + len(self._busy)):
            self._active += 1
            self._group.create_task(self._work(), name=self._name)
            if len(self._ready) > 1:
                self._call_workers()

    async def _work(self) -> None:
        try:
            while self._ready:
                await self._work_on(self._ready.popleft())
        finally:
            self._active -= 1

    async def _work_on(self, key: str) -> None:
        self._waiting.discard(key)
        self._busy.add(key)
        try:
            await self._reconcile(key)
            self._failures.pop(key, None)
        except (APIError, StorageError) as error:
            self._retry(key, error)
        except Exception as error:
            # A controller's fault must not end the server that it runs in.
            log.error("controller_panic", controller=self._name, key=key, traceback=traceback.format_exc())
            self._retry(key, error)
        finally:
            self._busy.discard(key)
        if key in self._again:
            self._again.discard(key)
            self.add(key)

    def _retry(self, key: str, error: Exception) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(SHORTEST * 2 ** min(failures - 1, 20), LONGEST)
        log.debug(2, "controller_retries", controller=self._name, key=key, error=str(error), seconds=delay)
        self.add_after(key, delay)
