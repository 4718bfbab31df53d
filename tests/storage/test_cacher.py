"""The cache: in step when it says so, whole after every failure, and fair to its watchers."""

from __future__ import annotations

import asyncio

import pytest

from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.cacher import cacher as cacher_module
from kapi.storage.cacher.cacher import NotReady
from kapi.storage.cacher.entry import Entry, Undecodable
from kapi.storage.cacher.feed import TooOld
from kapi.storage.cacher.window import FRESH_SECONDS, CacheEvent, Window
from kapi.storage.memory import MemoryKV
from kapi.storage.objects import Query

SCOPE = "/registry/configmaps/"


@pytest.fixture(autouse=True)
def soon(monkeypatch):
    monkeypatch.setattr(cacher_module, "RETRY_SECONDS", 0.01)
    monkeypatch.setattr(cacher_module, "CATCH_UP_SECONDS", 0.2)


class Follower:
    """A watcher that remembers."""

    def __init__(self, feed, scope=SCOPE, selects=None):
        self.feed, self.scope, self.selects = feed, scope, selects
        self.seen = []
        self.end = asyncio.get_running_loop().create_future()
        self.changed = asyncio.Event()

    def deliver(self, event):
        kind = event.seen_by(self.selects)
        if kind:
            entry = event.shown_as(kind)
            self.seen.append((kind, entry.key.removeprefix(self.scope), entry.revision))
        self.changed.set()

    def ended(self, error):
        self.feed.detach(self)
        self.end.set_result(error)
        self.changed.set()

    async def count(self, number):
        async with asyncio.timeout(20):
            while len(self.seen) < number:
                self.changed.clear()
                await self.changed.wait()
        return self.seen


async def follow(shelf, *, scope=SCOPE, after=None, selects=None):
    feed = await shelf.objects.feed(scope, newest=False)
    follower = Follower(feed, scope, selects)
    position = await feed.now() if after is None else after
    for event in feed.missed(position, 0):
        follower.deliver(event)
    feed.attach(follower, position)
    return follower


def test_a_write_during_the_first_list_is_in_the_cache_when_it_is_ready(new_shelf, data_of):
    """A list, then a watch from there: until that has replayed what came between, the cache is behind."""

    class Busy(MemoryKV):
        async def range(self, prefix, *, start="", limit=0, revision=kv.NO_REVISION):
            page = await super().range(prefix, start=start, limit=limit, revision=revision)
            if prefix == SCOPE and not page.items:
                for i in range(100):
                    await shelf.elsewhere(f"{i:02}", "meanwhile")
            return page

    async def scenario():
        engine = Busy()
        await engine.start()
        nonlocal shelf
        shelf = new_shelf.over(engine)
        assert data_of(await shelf.objects.get(shelf.key("99"), None)) == "meanwhile"
        listing = await shelf.objects.list(Query(scope=SCOPE))
        assert len(listing.entries) == 100
        assert listing.revision == await engine.revision()
        await shelf.cacher.close()
        await engine.close()

    shelf = None
    asyncio.run(scenario())


def test_while_its_watch_is_broken_the_cache_of_an_embedded_engine_is_not_in_step(in_step, data_of, monkeypatch):
    """An event that the cache cannot take ends its watch: reads wait until it has caught up."""

    async def scenario(shelf):
        await shelf.create("x", "one")
        await shelf.objects.list(Query(scope=SCOPE))
        faults = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context["exception"]))
        apply = shelf.cacher._apply
        monkeypatch.setattr(shelf.cacher, "_apply", lambda event, now: 1 / 0)
        await shelf.elsewhere("x", "two")
        monkeypatch.setattr(shelf.cacher, "_apply", apply)
        assert not shelf.cacher.ready
        assert data_of(await shelf.objects.get(shelf.key("x"), None)) == "two"
        assert [type(fault) for fault in faults] == [ZeroDivisionError]

    in_step(scenario)


def test_events_reach_the_watchers_of_their_scope_only(play):
    async def scenario(shelf):
        every = await follow(shelf)
        namespace = await follow(shelf, scope=SCOPE + "a/")
        one = await follow(shelf, scope=shelf.key("x"))
        await shelf.create("x")
        await shelf.create("xy")
        await shelf.engine.create(SCOPE + "ab/x", shelf.value("x"))
        assert [name for _, name, _ in await every.count(3)] == ["a/x", "a/xy", "ab/x"]
        assert [name for _, name, _ in await namespace.count(2)] == ["x", "xy"]
        assert len(await one.count(1)) == 1
        for follower in (every, namespace, one):
            follower.feed.detach(follower)
        await shelf.create("later")
        late = await follow(shelf, after=kv.NO_REVISION if not len(shelf.cacher) else shelf.cacher.window.floor)
        await late.count(3)
        assert [len(f.seen) for f in (every, namespace, one)] == [3, 2, 1]

    play(scenario)


def test_an_object_that_leaves_the_selector_is_deleted_in_its_former_state(play):
    async def scenario(shelf):
        follower = await follow(shelf, selects=lambda entry: entry.labels.get("on") == "yes")
        await shelf.create("x", on="yes")
        await shelf.elsewhere("x", "2", on="yes")
        left = await shelf.elsewhere("x", "3", on="no")
        await shelf.elsewhere("x", "4", on="no")
        await shelf.elsewhere("x", "5", on="yes")
        gone = await shelf.elsewhere("x", None)
        await shelf.elsewhere("x", "never seen", on="no")
        await shelf.elsewhere("x", None)
        await shelf.elsewhere("last", "", on="yes")
        seen = await follower.count(6)
        assert [kind for kind, _, _ in seen] == ["ADDED", "MODIFIED", "DELETED", "ADDED", "DELETED", "ADDED"]
        assert [seen[2][2], seen[4][2]] == [left, gone]

    play(scenario)


def test_a_watch_goes_on_from_any_revision_of_the_window_and_not_before(in_step):
    async def scenario(shelf):
        await shelf.objects.list(Query(scope=SCOPE))
        floor = shelf.cacher.window.floor
        revisions = [(await shelf.create(f"{i:02}")).revision for i in range(20)]
        for i in (0, 7, 19):
            follower = await follow(shelf, after=revisions[i])
            assert [revision for _, _, revision in follower.seen] == revisions[i + 1 :]
        assert len((await follow(shelf, after=floor)).seen) == 20
        with pytest.raises(TooOld) as too_old:
            await follow(shelf, after=Revision(floor - 1))
        assert too_old.value.floor == floor

    in_step(scenario)


def test_a_watch_from_the_future_sees_what_comes_later_than_that(uncached):
    async def scenario(shelf):
        now = await shelf.engine.revision()
        follower = await follow(shelf, after=Revision(now + 2))
        revisions = [(await shelf.create(str(i))).revision for i in range(4)]
        assert [revision for _, _, revision in await follower.count(2)] == revisions[2:]

    uncached(scenario)


def test_without_a_cache_a_watch_from_before_the_compaction_is_too_old(uncached):
    async def scenario(shelf):
        first = (await shelf.create("x")).revision
        await shelf.engine.compact(await shelf.elsewhere("x", "two"))
        follower = await follow(shelf, after=first)
        error = await follower.end
        assert isinstance(error, TooOld)
        assert error.floor is None

    uncached(scenario)


def test_a_broken_watch_is_taken_up_where_it_was_and_no_watcher_notices(lagging):
    async def scenario(shelf):
        await shelf.create("before")
        follower = await follow(shelf)
        revisions = []
        for i in range(5):
            shelf.engine.fail(kv.Unavailable("gone for a moment"))
            revisions.append(await shelf.elsewhere(str(i), ""))
        assert [revision for _, _, revision in await follower.count(5)] == revisions
        assert not follower.end.done()
        assert shelf.cacher.fills == 1

    lagging(scenario)


def test_the_cache_of_a_resource_that_rests_keeps_up_with_the_store(lagging, monkeypatch):
    """Or a watch that breaks after a compaction could not go on from where it was."""
    monkeypatch.setattr(cacher_module, "ASK_SECONDS", 0.01)

    async def scenario(shelf):
        follower = await follow(shelf)
        newest = await shelf.engine.create("/registry/other/x", b"{}")
        async with asyncio.timeout(20):
            while shelf.cacher.revision < newest:
                await asyncio.sleep(0.001)
        await shelf.engine.compact(newest)
        shelf.engine.fail(kv.Unavailable("for a moment"))
        await shelf.elsewhere("x", "")
        await follower.count(1)
        assert not follower.end.done()

    lagging(scenario)


def test_a_cache_that_starts_anew_ends_its_watchers_and_those_that_came_meanwhile(lagging, data_of):
    async def scenario(shelf):
        await shelf.create("x", "one")
        before = await follow(shelf)
        shelf.engine.held = True
        await shelf.elsewhere("x", "two")
        for door in list(shelf.engine.doors):
            door.waiting.clear()  # lost for good: compacted before it could be told
        shelf.engine.fail(kv.Compacted(await shelf.engine.revision()))
        shelf.engine.held = False
        meanwhile = Follower(before.feed)
        before.feed.attach(meanwhile, shelf.cacher.revision)
        assert await before.end is None
        assert await meanwhile.end is None
        assert (before.seen, meanwhile.seen) == ([], [])
        listing = await shelf.objects.list(Query(scope=SCOPE))
        assert [data_of(entry) for entry in listing.entries] == ["two"]
        assert shelf.cacher.fills == 2
        with pytest.raises(TooOld):
            await follow(shelf, after=Revision(listing.revision - 1))

    lagging(scenario)


def test_a_value_that_is_no_object_is_told_and_repaired_by_deleting_it(play, monkeypatch):
    monkeypatch.setattr("kapi.storage.objects.FILL_SECONDS", 0.05)

    async def scenario(shelf):
        await shelf.create("x")
        await shelf.objects.list(Query(scope=SCOPE))
        bad = await shelf.engine.create(shelf.key("bad"), b"k8s\x00protobuf")
        with pytest.raises((NotReady, kv.CorruptObjects)):
            # Until the event of the bad value arrives, a cache that is behind can answer.
            while True:
                await shelf.objects.list(Query(scope=SCOPE))
        with pytest.raises(kv.CorruptObjects, match=shelf.key("bad")):
            await shelf.objects.list(Query(scope=SCOPE, limit=10))
        await shelf.engine.delete(shelf.key("bad"), bad)
        async with asyncio.timeout(20):
            while True:
                try:
                    listing = await shelf.objects.list(Query(scope=SCOPE))
                    break
                except NotReady:
                    continue
        assert len(listing.entries) == 1

    play(scenario)


@pytest.mark.parametrize("value", [b"", b"null", b"[]", b"{}", b'{"metadata":5}', b"\xff", b'{"kind":"ConfigMap"'])
def test_what_another_program_wrote_is_an_error_not_an_accident(uncached, value):
    async def scenario(shelf):
        await shelf.engine.create(shelf.key("x"), value)
        with pytest.raises(Undecodable):
            await shelf.objects.get(shelf.key("x"), None)

    uncached(scenario)


def test_what_another_server_wrote_in_another_order_is_read(play, data_of):
    async def scenario(shelf):
        await shelf.engine.create(
            shelf.key("x"), b'{"apiVersion":"v1","data":{"v":"1"},"kind":"ConfigMap","metadata":{"name":"x"}}\n'
        )
        entry = await shelf.objects.get(shelf.key("x"), None)
        assert (data_of(entry), entry.object["metadata"]["resourceVersion"]) == ("1", str(entry.revision))

    play(scenario)


def test_clients_stay_away_longer_the_longer_the_cache_is_down(new_shelf):
    class Clock:
        time = 1000.0

        def monotonic(self):
            return self.time

        def now(self):
            return self.time

    clock = Clock()
    shelf = new_shelf.over(MemoryKV())
    shelf.cacher._clock = clock
    shelf.cacher._down_since = clock.time
    waits = []
    for down in (0, 10, 30, 60, 3600):
        clock.time = 1000.0 + down
        waits.append(shelf.cacher._retry_after())
    assert waits == [1, 2, 7, 30, 30]


# The window


def events(count, *, every=1.0, start=0.0, first=1):
    return [
        CacheEvent(Entry(None, f"/{i}", b"", Revision(i), Revision(i)), None, Revision(i), start + i * every)
        for i in range(first, first + count)
    ]


def test_the_window_grows_while_events_come_fast_and_shrinks_when_they_are_slow():
    window = Window(Revision(0))
    for event in events(2000, every=0.01):
        window.append(event)
    fast = window.capacity
    assert fast >= 1600
    assert len(window) <= fast * 5 // 4
    for event in events(20_000, every=10.0, start=1000.0, first=2001):
        window.append(event)
    assert window.capacity == 100
    assert len(window) <= 125


def test_the_window_holds_at_least_what_is_fresh():
    window = Window(Revision(0))
    for event in events(5000, every=0.1):
        window.append(event)
        assert window.floor == 0 or event.time - window.after(window.floor)[0].time >= FRESH_SECONDS
    assert window.floor


def test_the_window_knows_what_it_no_longer_has():
    window = Window(Revision(10))
    assert window.after(Revision(9)) is None
    assert list(window.after(Revision(10))) == []
    for event in events(1000, every=100.0, first=11):
        window.append(event)
    assert window.after(Revision(window.floor - 1)) is None
    kept = window.after(window.floor)
    assert [e.revision for e in kept] == list(range(window.floor + 1, 1011))
    assert [e.revision for e in window.after(Revision(1000), 3)] == [1001, 1002, 1003]
    assert list(window.after(Revision(5000))) == []
