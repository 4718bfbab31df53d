"""Watching through encryption: events in their order, decrypted at once unless a key has to be fetched first."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace

from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.encryption.transformer import KeyMissing

OpenNow = Callable[[str, bytes], bytes]
Open = Callable[[str, bytes], Awaitable[tuple[bytes, bool]]]


class DecryptingSink:
    """Between an engine's watch and a sink; a `kv.Sink` to the one and the `kv.Watch` of the other.

    What comes while a key is being fetched waits behind it, progress too.
    """

    def __init__(self, sink: kv.Sink, open_now: OpenNow, open_: Open) -> None:
        self._sink = sink
        self._open_now = open_now
        self._open = open_
        self._waiting: deque[Sequence[kv.Event] | Revision] = deque()
        self._catching_up: asyncio.Task[None] | None = None
        self._closed = False
        self.wants_previous = sink.wants_previous
        self.watch: kv.Watch | None = None

    # kv.Sink

    def events(self, events: Sequence[kv.Event]) -> None:
        if self._closed:
            return
        if not self._waiting:
            try:
                opened = [self._opened(event) for event in events]
            except KeyMissing:
                pass
            except kv.Corrupt as error:
                self._give_up(error)
                return
            else:
                self._sink.events(opened)
                return
        self._wait(events)

    def progress(self, revision: Revision) -> None:
        if self._waiting:
            self._wait(revision)
        elif not self._closed:
            self._sink.progress(revision)

    def failed(self, error: kv.StorageError) -> None:
        if not self._closed:
            self._end()
            self._sink.failed(error)

    # kv.Watch

    def request_progress(self) -> None:
        if self.watch is not None:
            self.watch.request_progress()

    def close(self) -> None:
        self._end()
        if self.watch is not None:
            self.watch.close()

    def _end(self) -> None:
        self._closed = True
        self._waiting.clear()
        if self._catching_up is not None and self._catching_up is not asyncio.current_task():
            self._catching_up.cancel()

    def _give_up(self, error: kv.StorageError) -> None:
        self.close()
        self._sink.failed(error)

    def _opened(self, event: kv.Event) -> kv.Event:
        value, previous = event.value, event.previous
        if value is not None:
            value = self._open_now(event.key, value)
        if previous is not None and self.wants_previous:
            previous = self._open_now(event.key, previous)
        return replace(event, value=value, previous=previous)

    def _wait(self, item: Sequence[kv.Event] | Revision) -> None:
        self._waiting.append(item)
        if self._catching_up is None:
            self._catching_up = asyncio.get_running_loop().create_task(self._catch_up())

    async def _catch_up(self) -> None:
        try:
            while self._waiting:
                item = self._waiting[0]
                told = item if isinstance(item, int) else [await self._fetched(event) for event in item]
                if self._closed:
                    return
                self._waiting.popleft()
                if isinstance(told, int):
                    self._sink.progress(Revision(told))
                else:
                    self._sink.events(told)
        except kv.Corrupt as error:
            self._give_up(error)
        finally:
            self._catching_up = None

    async def _fetched(self, event: kv.Event) -> kv.Event:
        value, previous = event.value, event.previous
        if value is not None:
            value, _ = await self._open(event.key, value)
        if previous is not None and self.wants_previous:
            previous, _ = await self._open(event.key, previous)
        return replace(event, value=value, previous=previous)
