"""Object stores over engines that behave like the embedded ones, and like etcd when it is behind."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import orjson
import pytest

from kapi.api.clock import SystemClock
from kapi.api.objects import Object
from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Entry, Shape
from kapi.storage.memory import MemoryKV
from kapi.storage.objects import ObjectStore

PREFIX = "/registry/configmaps/"
SHAPE = Shape(
    kind="ConfigMap", api_version="v1", fields_of=lambda decoded: {"metadata.name": decoded["metadata"]["name"]}
)


class HeldBack:
    """A sink's doorkeeper: what the engine tells waits here until `release`."""

    def __init__(self, sink: kv.Sink, lagging: LaggingKV) -> None:
        self.sink = sink
        self.lagging = lagging
        self.waiting: list[Callable[[], None]] = []
        self.watch: kv.Watch
        self.over = False

    def events(self, events: Sequence[kv.Event]) -> None:
        for event in events:
            self.pass_on(lambda event=event: self.sink.events([event]))  # type: ignore[misc]

    def progress(self, revision: int) -> None:
        self.pass_on(lambda: self.sink.progress(kv.Revision(revision)))

    def failed(self, error: kv.StorageError) -> None:
        self.pass_on(lambda: self.fail(error))

    def fail(self, error: kv.StorageError) -> None:
        self.close()
        self.sink.failed(error)

    def pass_on(self, call: Callable[[], None]) -> None:
        if self.lagging.held:
            self.waiting.append(call)
        elif not self.over:
            call()

    def release(self) -> None:
        waiting, self.waiting = self.waiting, []
        for call in waiting:
            if not self.over:
                call()

    def request_progress(self) -> None:
        if self.lagging.supports_progress:
            self.watch.request_progress()

    def close(self) -> None:
        self.over = True
        self.watch.close()
        self.lagging.doors.discard(self)


class LaggingKV(MemoryKV):
    """As etcd: events arrive on their own. `held` keeps them back; `fail` breaks every watch."""

    in_step = False
    supports_progress = True

    def __init__(self) -> None:
        super().__init__()
        self.held = False
        self.doors: set[HeldBack] = set()

    def watch(self, prefix: str, after: kv.Revision, sink: kv.Sink) -> kv.Watch:
        door = HeldBack(sink, self)
        door.watch = super().watch(prefix, after, door)
        self.doors.add(door)
        return door

    def release(self) -> None:
        self.held = False
        for door in list(self.doors):
            door.release()

    def fail(self, error: kv.StorageError) -> None:
        for door in list(self.doors):
            door.fail(error)


@dataclass
class Shelf:
    """An ObjectStore, and what it stands on."""

    engine: Any
    cacher: Cacher
    objects: ObjectStore

    @staticmethod
    def over(engine: kv.KV, *, cached: bool = True, ttl: int = 0) -> Shelf:
        cacher = Cacher(engine, PREFIX, SHAPE, SystemClock())
        return Shelf(engine, cacher, ObjectStore(engine, cacher, cached=cached, ttl=ttl))

    @staticmethod
    def key(name: str, namespace: str = "a") -> str:
        return f"{PREFIX}{namespace}/{name}"

    def value(self, name: str, data: str = "", **labels: str) -> bytes:
        metadata: Object = {"name": name, "namespace": "a"} | ({"labels": labels} if labels else {})
        return self.objects.encode({"metadata": metadata, "data": {"v": data}})

    async def create(self, name: str, data: str = "", **labels: str) -> Entry:
        return await self.objects.create(self.key(name), self.value(name, data, **labels))

    async def elsewhere(self, name: str, data: str | None, **labels: str) -> kv.Revision:
        """A write by another server: past this one's cache."""
        found, _ = await self.engine.get(self.key(name))
        if data is None:
            return (await self.engine.delete(self.key(name), found.revision))[0]
        value = self.value(name, data, **labels)
        if found is None:
            return await self.engine.create(self.key(name), value)
        return await self.engine.update(self.key(name), value, found.revision)


def shown(entry: Entry | None) -> str | None:
    return None if entry is None else orjson.loads(entry.bytes)["data"]["v"]


@pytest.fixture
def data_of() -> Callable[[Entry | None], str | None]:
    """What a test wrote into an object."""
    return shown


@pytest.fixture
def new_shelf() -> type[Shelf]:
    return Shelf


@pytest.fixture
def lagging_engine() -> type[LaggingKV]:
    return LaggingKV


Play = Callable[[Callable[[Shelf], Awaitable[None]]], None]


def player(engine: Callable[[], kv.KV], *, cached: bool = True, ttl: int = 0) -> Play:
    def play(scenario: Callable[[Shelf], Awaitable[None]]) -> None:
        async def run() -> None:
            kv_ = engine()
            await kv_.start()
            shelf = Shelf.over(kv_, cached=cached, ttl=ttl)
            try:
                await scenario(shelf)
            finally:
                await shelf.cacher.close()
                await kv_.close()

        asyncio.run(run())

    return play


@pytest.fixture
def lagging() -> Play:
    """Plays a scenario on a store whose cache may be behind."""
    return player(LaggingKV)


@pytest.fixture
def in_step() -> Play:
    return player(MemoryKV)


@pytest.fixture
def uncached() -> Play:
    return player(MemoryKV, cached=False)


@pytest.fixture
def expiring() -> Play:
    """Objects live for 1,000 seconds."""
    return player(MemoryKV, ttl=1000)


@pytest.fixture(params=["in step", "behind", "uncached"])
def play(request: pytest.FixtureRequest) -> Iterator[Play]:
    """Plays a scenario on every kind of store."""
    engine = LaggingKV if request.param == "behind" else MemoryKV
    yield player(engine, cached=request.param != "uncached")
