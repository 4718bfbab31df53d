"""One suite, three engines, one of them behind encryption as well, and the cache for what it can answer.

A test sees the store through `kapi.storage.kv.KV` only, and no revision is a given.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from kapi.storage.kv import KV, Event, StorageError
from kapi.storage.memory import MemoryKV
from kapi.storage.sqlite import SQLiteKV

Scenario = Callable[[Any], Awaitable[None]]
PATIENCE = 20  # seconds: only a failing test waits that long


class Recorder:
    """A sink that remembers, and can be waited for."""

    wants_previous = True

    def __init__(self) -> None:
        self.seen: list[Event] = []
        self.calls: list[list[Event]] = []
        self.progressed: list[int] = []
        self.errors: list[StorageError] = []
        self._changed = asyncio.Event()

    def events(self, events: Sequence[Event]) -> None:
        assert not self.errors, "events after failed"
        self.seen += events
        self.calls.append(list(events))
        self._changed.set()

    def progress(self, revision: int) -> None:
        assert not self.errors, "progress after failed"
        self.progressed.append(revision)
        self._changed.set()

    def failed(self, error: StorageError) -> None:
        self.errors.append(error)
        self._changed.set()

    async def until(self, condition: Callable[[Recorder], object]) -> None:
        async with asyncio.timeout(PATIENCE):
            while not condition(self):
                self._changed.clear()
                await self._changed.wait()

    async def count(self, events: int) -> list[Event]:
        await self.until(lambda r: len(r.seen) >= events)
        return self.seen


class Store:
    """Where an engine keeps its data: `new()` opens the same data again."""

    def __init__(self, new: Callable[[], KV], *, durable: bool) -> None:
        self.new = new
        self.durable = durable

    def run(self, scenario: Scenario) -> None:
        """Start, play, close."""

        async def play() -> None:
            kv = self.new()
            await kv.start()
            try:
                await scenario(kv)
            finally:
                await kv.close()

        asyncio.run(play())


ENGINES = ("memory", "sqlite", "encrypted", pytest.param("etcd", marks=pytest.mark.etcd))
CACHED = ("test_reads", "test_watch")
# The cache is no engine: it does not count an object's writes, says from where on it can be watched instead of what is
# compacted, keeps a window that compaction does not shorten, and trusts its watchers.
NOT_CACHED = (
    "test_a_range_at_an_old_revision_sees_what_was_deleted_and_not_what_came_later",
    "test_a_watch_from_before_what_is_kept_fails_with_compacted",
    "test_a_sink_that_raises_harms_neither_writers_nor_other_sinks",
)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "store" in metafunc.fixturenames:
        module, test = metafunc.module.__name__.rpartition(".")[2], metafunc.function.__name__
        cached = module in CACHED and test not in NOT_CACHED
        metafunc.parametrize("store", [*ENGINES, "cache"] if cached else ENGINES, indirect=True)


@pytest.fixture
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    if request.param == "memory":
        yield Store(MemoryKV, durable=False)
    elif request.param == "cache":
        yield Store(beside("cached").CachedKV, durable=False)
    elif request.param == "encrypted":
        yield Store(beside("encrypted").EncryptedMemory, durable=False)
    elif request.param == "sqlite":
        yield Store(lambda: SQLiteKV(tmp_path / "kv.db"), durable=True)
    else:
        yield Store(empty_etcd(request.getfixturevalue("etcd").url), durable=True)


def beside(name: str) -> Any:
    """A module beside this one, which tests cannot import by name."""
    spec = spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def empty_etcd(url: str) -> Callable[[], KV]:
    """The run's etcd, without the keys of the test before. Its revisions go on, as in life."""
    from kapi.storage.etcd import EtcdConfig, EtcdKV  # gRPC is slow to load: only for the tests that use it

    def new() -> KV:
        return EtcdKV(EtcdConfig(endpoints=(url,)))

    async def clear() -> None:
        kv = new()
        await kv.start()
        for item in (await kv.range("/")).items:
            await kv.delete(item.key, item.revision)
        await kv.close()

    asyncio.run(clear())
    return new


@pytest.fixture
def durable_store(store: Store) -> Store:
    if not store.durable:
        pytest.skip("nothing of it outlives the process")
    return store


@pytest.fixture
def run(store: Store) -> Callable[[Scenario], None]:
    return store.run


@pytest.fixture
def recorder() -> type[Recorder]:
    return Recorder
