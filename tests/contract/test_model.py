"""Random histories against a model that is too simple to be wrong: the list of all writes."""

from __future__ import annotations

import asyncio
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from kapi.storage.kv import KV, Compacted, Conflict, Event, FutureRevision, KeyExists, NotFound, StorageError
from kapi.storage.memory import MemoryKV
from kapi.storage.sqlite import SQLiteKV, check

KEYS = [f"/r/{namespace}/{name}" for namespace in ("a", "a-b", "b") for name in ("1", "2", "10")]
PREFIXES = ["", "/r/", "/r/a", "/r/a/", "/r/b/", "/r/a/1", "/none/"]
STARTS = ["", "/r/a/1\0", "/r/a/2", "/r/b/", "/z"]


class Model:
    """Every write ever: (revision, key, value or None, created, previous revision)."""

    def __init__(self, revision: int) -> None:
        self.first = self.revision = revision
        self.compacted = 0
        self.history: list[tuple[int, str, bytes | None, int, int]] = []

    def state(self, revision: int = 0) -> dict[str, tuple[bytes, int, int]]:
        state = {}
        for at, key, value, created, _ in self.history:
            if revision and at > revision:
                break
            if value is None:
                del state[key]
            else:
                state[key] = (value, at, created)
        return state

    def write(self, revision: int, key: str, value: bytes | None) -> None:
        before = self.state().get(key)
        assert revision > self.revision
        self.revision = revision
        self.history.append((revision, key, value, before[2] if before else revision, before[1] if before else 0))

    def events(self, prefix: str, after: int) -> list[Event]:
        values = {at: value for at, _, value, _, _ in self.history}
        return [
            Event(key, at, value, values[previous] if previous else None, created, previous)
            for at, key, value, created, previous in self.history
            if at > after and key.startswith(prefix)
        ]


class Sink:
    wants_previous = True

    def __init__(self) -> None:
        self.seen: list[Event] = []
        self.error: StorageError | None = None
        self.progressed = asyncio.Event()

    def events(self, events) -> None:
        self.seen += events

    def progress(self, revision) -> None:
        self.progressed.set()

    def failed(self, error) -> None:
        self.error = error
        self.progressed.set()


class Machine(RuleBasedStateMachine):
    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.runner = asyncio.Runner()
        self.kv = self.open()
        self.model = Model(self.do(self.kv.revision()))
        self.watched: list[tuple[str, int, Sink]] = []

    def do(self, call):
        return self.runner.run(call)

    def open(self) -> KV:
        kv = MemoryKV() if self.kind == "memory" else SQLiteKV(self.directory / "kv.db")
        self.do(kv.start())
        return kv

    def teardown(self) -> None:
        self.do(self.kv.close())
        self.runner.close()
        if self.kind == "sqlite":
            assert check(self.directory / "kv.db") == []
        shutil.rmtree(self.directory)

    def refused(self, error: type[StorageError], call) -> StorageError:
        with pytest.raises(error) as raised:
            self.do(call)
        return raised.value

    @rule(key=st.sampled_from(KEYS), value=st.binary(max_size=3))
    def create(self, key, value):
        if key in self.model.state():
            self.refused(KeyExists, self.kv.create(key, value))
        else:
            self.model.write(self.do(self.kv.create(key, value)), key, value)

    @rule(key=st.sampled_from(KEYS), value=st.none() | st.binary(max_size=3), stale=st.sampled_from([0, 0, 0, -1, 1]))
    def change(self, key, value, stale):
        found = self.model.state().get(key)
        expected = found[1] + stale if found else 1
        call = self.kv.delete(key, expected) if value is None else self.kv.update(key, value, expected)
        if found is None:
            self.refused(NotFound, call)
        elif stale:
            current = self.refused(Conflict, call).current
            assert (current.value, current.revision, current.created) == found
        else:
            revision = self.do(call)
            if value is None:
                revision, was = revision
                assert (was.value, was.revision, was.created) == found
            self.model.write(revision, key, value)

    @rule(keys=st.lists(st.sampled_from(KEYS), min_size=2, max_size=12))
    def race(self, keys):
        """Deletes and creates in one batch: whatever order they are decided in, the outcome is a sequence of writes."""

        async def flip(key):
            found, _ = await self.kv.get(key)
            try:
                if found:
                    return key, (await self.kv.delete(key, found.revision))[0], None
                return key, await self.kv.create(key, b"raced"), b"raced"
            except (KeyExists, NotFound, Conflict):
                return key, 0, None

        async def all_at_once():
            return await asyncio.gather(*map(flip, keys))

        done = [outcome for outcome in self.do(all_at_once()) if outcome[1]]
        for key, revision, value in sorted(done, key=lambda outcome: outcome[1]):
            self.model.write(revision, key, value)

    @rule(
        prefix=st.sampled_from(PREFIXES),
        start=st.sampled_from(STARTS),
        limit=st.integers(0, 4),
        back=st.integers(-1, 12),
    )
    def read(self, prefix, start, limit, back):
        at = max(self.model.revision - back, 1)
        call = self.kv.range(prefix, start=start, limit=limit, revision=at)
        if at > self.model.revision:
            self.refused(FutureRevision, call)
        elif at < self.model.compacted:
            self.refused(Compacted, call)
        else:
            state = self.model.state(at) if at >= self.model.first else {}
            keys = [key for key in sorted(state) if key.startswith(prefix) and key >= start]
            page = self.do(call)
            shown = keys[:limit] if limit else keys
            assert [(i.key, (i.value, i.revision, i.created)) for i in page.items] == [(k, state[k]) for k in shown]
            assert (page.count, page.more, page.revision) == (len(keys), len(shown) < len(keys), at)
            for key in KEYS:
                found = self.do(self.kv.get(key, at))[0]
                assert (found and (found.value, found.revision, found.created)) == state.get(key)

    @precondition(lambda self: self.model.history)
    @rule(data=st.data())
    def compact(self, data):
        low = max(self.model.compacted, self.model.first)
        self.model.compacted = data.draw(st.integers(low, self.model.revision))
        self.do(self.kv.compact(self.model.compacted))

    @precondition(lambda self: self.kind != "memory")
    @rule()
    def reopen(self):
        self.do(self.kv.close())
        self.check_watches(ended=True)
        self.watched.clear()
        self.kv = self.open()

    @rule(prefix=st.sampled_from(PREFIXES), back=st.integers(0, 12))
    def watch(self, prefix, back):
        after = max(self.model.revision - back, 1)
        sink = Sink()

        async def open_and_settle():
            self.kv.watch(prefix, after, sink).request_progress()
            await sink.progressed.wait()

        self.do(open_and_settle())
        assert isinstance(sink.error, Compacted) == (after < self.model.compacted)
        if sink.error is None:
            self.watched.append((prefix, after, sink))

    @invariant()
    def check_watches(self, *, ended: bool = False):
        for prefix, after, sink in self.watched:
            assert sink.seen == self.model.events(prefix, after)
            assert (sink.error is not None) == ended

    @invariant()
    def check_now(self):
        state = self.model.state()
        assert self.do(self.kv.revision()) == self.model.revision
        assert self.do(self.kv.count("/r/a/")) == sum(key.startswith("/r/a/") for key in state)


class SQLiteMachine(Machine):
    kind = "sqlite"


@pytest.mark.parametrize("machine", [Machine, SQLiteMachine], ids=["memory", "sqlite"])
def test_the_store_does_what_the_model_does(machine):
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    examples = 60 if machine is Machine else 25
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=examples, stateful_step_count=40, deadline=None, suppress_health_check=quiet),
    )
