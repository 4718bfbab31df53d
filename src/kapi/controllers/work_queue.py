"""The work queue: keys, each worked on by one worker at a time, again after a while when that failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

from kapi.api.errors import APIError
from kapi.telemetry.log import log

SHORTEST, LONGEST = 0.01, 30.0


class WorkQueue:
    """A key that is added while it is being worked on is worked on again afterwards; never by two at once."""

    def __init__(self, name: str, reconcile: Callable[[str], Awaitable[None]], workers: int = 4) -> None:
        self._name = name
        self._reconcile = reconcile
        self._workers = workers
        self._queue: asyncio.Queue[str] = asyncio.Queue()
        self._waiting: set[str] = set()
        self._busy: set[str] = set()
        self._again: set[str] = set()
        self._failures: dict[str, int] = {}

    def add(self, key: str) -> None:
        if key in self._busy:
            self._again.add(key)
        elif key not in self._waiting:
            self._waiting.add(key)
            self._queue.put_nowait(key)

    def add_after(self, key: str, seconds: float) -> None:
        asyncio.get_running_loop().call_later(seconds, self.add, key)

    async def run(self) -> None:
        """Until cancelled."""
        async with asyncio.TaskGroup() as group:
            for _ in range(self._workers):
                group.create_task(self._work())

    async def _work(self) -> None:
        while True:
            key = await self._queue.get()
            self._waiting.discard(key)
            self._busy.add(key)
            try:
                await self._reconcile(key)
                self._failures.pop(key, None)
            except APIError as error:
                self._retry(key, error)
            finally:
                self._busy.discard(key)
            if key in self._again:
                self._again.discard(key)
                self.add(key)

    def _retry(self, key: str, error: APIError) -> None:
        failures = self._failures[key] = self._failures.get(key, 0) + 1
        delay = min(SHORTEST * 2 ** (failures - 1), LONGEST)
        log.debug(2, "controller_retries", controller=self._name, key=key, error=str(error), seconds=delay)
        self.add_after(key, delay)
