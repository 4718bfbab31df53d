"""Random histories of an object store and its cache, against a model that is too simple to be wrong."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.cacher import cacher as cacher_module
from kapi.storage.cacher.feed import TooOld
from kapi.storage.memory import MemoryKV
from kapi.storage.objects import ContinuationExpired, Query, Write

SCOPE = "/registry/configmaps/"
NAMES = ["a", "a1", "b", "c"]
SELECTORS = {"all": None, "red": lambda entry: entry.labels.get("color") == "red"}
RED = {"all": lambda value: True, "red": lambda value: value[1] == "red"}


class Model:
    """Every write ever: (revision, name, (data, color) or None)."""

    def __init__(self) -> None:
        self.history: list[tuple[int, str, tuple[str, str] | None]] = []

    def state(self, upto: float = float("inf")) -> dict[str, tuple[str, str]]:
        state: dict[str, tuple[str, str]] = {}
        for revision, name, value in self.history:
            if revision <= upto:
                state.pop(name, None)
                if value is not None:
                    state[name] = value
        return state

    def events(self, selector: str, after: int) -> list[tuple[str, str, int]]:
        seen = []
        state: dict[str, tuple[str, str]] = {}
        for revision, name, value in self.history:
            before = state.pop(name, None)
            if value is not None:
                state[name] = value
            was, is_ = before is not None and RED[selector](before), value is not None and RED[selector](value)
            kind = {(False, True): "ADDED", (True, True): "MODIFIED", (True, False): "DELETED"}.get((was, is_))
            if kind and revision > after:
                seen.append((kind, name, revision))
        return seen


class Follower:
    def __init__(self, selects, position) -> None:
        self.scope = SCOPE
        self.selects = selects
        self.position = position
        self.seen: list[tuple[str, str, int]] = []
        self.feed = None
        self.over = False

    def deliver(self, event) -> None:
        if event.revision > self.position:
            self.position = event.revision
            kind = event.seen_by(self.selects)
            if kind:
                self.seen.append((kind, event.shown_as(kind).key.rpartition("/")[2], event.revision))

    def ended(self, error) -> None:
        self.over = True


class Machine(RuleBasedStateMachine):
    """One store in step; subclasses say otherwise."""

    shelf_type: type
    engine_type: type = MemoryKV
    cached = True

    def __init__(self) -> None:
        super().__init__()
        self.runner = asyncio.Runner()
        self.engine = self.engine_type()
        self.do(self.engine.start())
        self.shelf = self.shelf_type.over(self.engine, cached=self.cached)
        self.model = Model()
        self.followers: list[tuple[str, int, Follower]] = []
        self.pages: list[tuple[int, str, list[str], object]] = []
        self.compacted = 0
        self.first = self.do(self.engine.revision())
        self.do(self.shelf.objects.list(Query(scope=SCOPE)))

    def do(self, call):
        return self.runner.run(call)

    def teardown(self) -> None:
        self.settle()
        self.check_followers()
        for _, _, follower in self.followers:
            follower.feed.detach(follower)
        self.do(self.shelf.cacher.close())
        self.do(self.engine.close())
        self.runner.close()

    def settle(self) -> None:
        """What is on its way arrives."""

        async def all_told():
            async with asyncio.timeout(20):
                newest = await self.engine.revision()
                for _, _, follower in self.followers:
                    while follower.feed.revision < newest and not follower.over:
                        follower.feed.request_progress()
                        await asyncio.sleep(0)

        self.do(all_told())

    @rule(name=st.sampled_from(NAMES), data=st.text("xyz", max_size=2), color=st.sampled_from(["red", "blue"]))
    def write(self, name, data, color):
        """An update that creates what is missing, whatever the cache believes."""

        async def change(current):
            return Write(self.shelf.value(name, data, color=color))

        known = self.model.state()
        entry, created = self.do(self.shelf.objects.update(self.shelf.key(name), change, create=True))
        assert created == (name not in known)
        self.model.history.append((entry.revision, name, (data, color)))

    @rule(name=st.sampled_from(NAMES))
    def delete(self, name):
        call = self.shelf.objects.delete(self.shelf.key(name), lambda entry: None)
        if name in self.model.state():
            self.model.history.append((self.do(call).revision, name, None))
        else:
            with pytest.raises(kv.NotFound):
                self.do(call)

    @rule(names=st.lists(st.sampled_from(NAMES), min_size=2, max_size=6))
    def race(self, names):
        """Concurrent appends: each sees what the one before it wrote."""

        async def append(name):
            async def change(current):
                value = current.object["data"]["v"] if current else ""
                return Write(self.shelf.value(name, value + "+", color="red"))

            entry, _ = await self.shelf.objects.update(self.shelf.key(name), change, create=True)
            return entry.revision, name, entry.object["data"]["v"]

        async def all_at_once():
            return await asyncio.gather(*map(append, names))

        for revision, name, data in sorted(self.do(all_at_once())):
            before = self.model.state().get(name)
            assert data == (before[0] if before else "") + "+"
            self.model.history.append((revision, name, (data, "red")))

    @rule()
    def write_elsewhere(self):
        self.do(self.engine.create(f"/registry/other/{self.do(self.engine.revision())}", b"{}"))

    def expected(self, revision, selector="all"):
        state = self.model.state(revision)
        return {name: value[0] for name, value in sorted(state.items()) if RED[selector](value)}

    @staticmethod
    def found(entries):
        return {e.key.rpartition("/")[2]: e.object["data"]["v"] for e in entries}

    @rule(selector=st.sampled_from(list(SELECTORS)), limit=st.integers(0, 3))
    def read(self, selector, limit):
        newest = self.do(self.engine.revision())
        listing = self.do(self.shelf.objects.list(Query(scope=SCOPE, limit=limit, selects=SELECTORS[selector])))
        assert listing.revision == newest
        expected = self.expected(newest, selector)
        assert self.found(listing.entries) == dict(list(expected.items())[: limit or None])
        if listing.continuation is not None:
            seen = list(self.found(listing.entries))
            self.pages.append((listing.revision, selector, seen, listing.continuation))
        elif limit:
            assert len(expected) <= limit

    @precondition(lambda self: self.pages)
    @rule(limit=st.integers(0, 2), data=st.data())
    def read_on(self, limit, data):
        revision, selector, seen, continuation = data.draw(st.sampled_from(self.pages))
        query = Query(scope=SCOPE, limit=limit, continuation=continuation, selects=SELECTORS[selector])
        try:
            listing = self.do(self.shelf.objects.list(query))
        except ContinuationExpired:
            assert revision < self.compacted
            return
        assert listing.revision == revision
        expected = {n: v for n, v in self.expected(revision, selector).items() if n not in seen}
        assert self.found(listing.entries) == dict(list(expected.items())[: limit or None])
        if selector == "all" and listing.remaining is not None:
            assert listing.remaining == len(expected) - limit

    @rule(back=st.integers(0, 10), limit=st.integers(0, 2))
    def read_at(self, back, limit):
        newest = self.do(self.engine.revision())
        at = Revision(max(newest - back, self.first))
        if at == 0:
            return
        try:
            listing = self.do(self.shelf.objects.list(Query(scope=SCOPE, revision=at, exact=True, limit=limit)))
        except kv.Compacted:
            assert at < self.compacted
            return
        assert listing.revision == at
        assert self.found(listing.entries) == dict(list(self.expected(at).items())[: limit or None])

    @rule(name=st.sampled_from(NAMES))
    def get(self, name):
        entry = self.do(self.shelf.objects.get(self.shelf.key(name), None))
        value = self.model.state().get(name)
        assert (entry and entry.object["data"]["v"]) == (value and value[0])

    @rule(back=st.integers(0, 10), selector=st.sampled_from(list(SELECTORS)))
    def watch(self, back, selector):
        after = Revision(max(self.do(self.engine.revision()) - back, self.first))
        follower = Follower(SELECTORS[selector], after)

        async def begin():
            feed = await self.shelf.objects.feed(SCOPE, newest=False)
            for event in feed.missed(after, 0):
                follower.deliver(event)
            feed.attach(follower, after)
            follower.feed = feed

        if after < self.compacted and not self.cached:
            return
        try:
            self.do(begin())
        except TooOld as too_old:
            assert after < too_old.floor
            return
        self.followers.append((selector, after, follower))

    @rule()
    def compact(self):
        self.compacted = self.do(self.engine.revision())
        self.do(self.engine.compact(self.compacted))

    @invariant()
    def check_followers(self):
        self.settle()
        for selector, after, follower in self.followers:
            assert not follower.over
            assert follower.seen == self.model.events(selector, after)


class Uncached(Machine):
    cached = False


class Behind(Machine):
    """As etcd: what the cache and its watchers are told may wait, and a watch may break."""

    @rule()
    def hold(self):
        self.engine.held = True

    @rule()
    def release(self):
        self.engine.release()

    @precondition(lambda self: not self.engine.held)
    @rule()
    def break_the_watch(self):
        self.engine.fail(kv.Unavailable("for a moment"))

    def settle(self) -> None:
        if not self.engine.held:
            super().settle()

    @invariant()
    def check_followers(self):
        """A cache that was behind what is compacted starts anew, and ends its watchers; but nobody has gaps."""
        self.settle()
        for selector, after, follower in self.followers:
            expected = self.model.events(selector, after)
            assert follower.seen == expected[: len(follower.seen)]
            assert follower.over or self.engine.held or len(follower.seen) == len(expected)

    def teardown(self) -> None:
        self.engine.release()
        super().teardown()


@pytest.mark.parametrize("machine", [Machine, Uncached, Behind], ids=["in step", "uncached", "behind"])
def test_the_object_store_does_what_the_model_does(machine, new_shelf, lagging_engine, monkeypatch):
    monkeypatch.setattr(cacher_module, "CATCH_UP_SECONDS", 0.02)
    monkeypatch.setattr(cacher_module, "PROGRESS_SECONDS", 0.001)
    monkeypatch.setattr(cacher_module, "RETRY_SECONDS", 0.0)
    monkeypatch.setattr(machine, "shelf_type", new_shelf, raising=False)
    if machine is Behind:
        monkeypatch.setattr(machine, "engine_type", lagging_engine)
    quiet = [HealthCheck.too_slow, HealthCheck.data_too_large]
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=50, stateful_step_count=30, deadline=None, suppress_health_check=quiet),
    )
