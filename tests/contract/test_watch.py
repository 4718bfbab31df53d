"""Watches: every committed write once, in order, with what was there before."""

import asyncio

import pytest

from kapi.storage.kv import Compacted, Event, Unavailable


def skip_without_progress(kv):
    if not getattr(kv, "supports_progress", True):
        pytest.skip("this etcd is too old to be trusted with progress requests")


def test_every_kind_of_write_is_an_event_with_the_previous_value(run, recorder):
    async def scenario(kv):
        sink = recorder()
        watch = kv.watch("/registry/a/", await kv.revision(), sink)
        created = await kv.create("/registry/a/x", b"one")
        updated = await kv.update("/registry/a/x", b"two", created)
        deleted, _ = await kv.delete("/registry/a/x", updated)
        again = await kv.create("/registry/a/x", b"three")
        assert await sink.count(4) == [
            Event("/registry/a/x", created, b"one", None, created),
            Event("/registry/a/x", updated, b"two", b"one", created, created),
            Event("/registry/a/x", deleted, None, b"two", created, updated),
            Event("/registry/a/x", again, b"three", None, again),
        ]
        watch.close()

    run(scenario)


def test_a_watch_sees_its_prefix_only_whatever_the_prefix(run, recorder):
    async def scenario(kv):
        prefixes = ["", "/registry/", "/registry/pods/", "/registry/pods", "/registry/pods/a/", "/registry/pods/a/x"]
        keys = ["/registry/pods/a/x", "/registry/pods/a/xy", "/registry/pods/ab", "/registry/podsets/a", "/other"]
        now = await kv.revision()
        sinks = {prefix: recorder() for prefix in prefixes}
        watches = [kv.watch(prefix, now, sink) for prefix, sink in sinks.items()]
        for key in keys:
            await kv.create(key, b"")
        for prefix, sink in sinks.items():
            expected = [key for key in keys if key.startswith(prefix)]
            assert [event.key for event in await sink.count(len(expected))] == expected
        for watch in watches:
            watch.close()

    run(scenario)


def test_a_watch_from_an_old_revision_replays_and_goes_on_without_gap_or_duplicate(run, recorder):
    async def scenario(kv):
        before = await kv.revision()
        expected = []

        async def write(name):
            revision = await kv.create(f"/registry/a/{name}", b"1")
            expected.append(revision)
            if int(name) % 3 == 0:
                revision = await kv.update(f"/registry/a/{name}", b"2", revision)
                expected.append(revision)
            if int(name) % 5 == 0:
                expected.append((await kv.delete(f"/registry/a/{name}", revision))[0])
            await kv.create(f"/registry/b/{name}", b"other")

        await asyncio.gather(*(write(str(i)) for i in range(400)))
        sinks = []
        for i in range(400, 600):
            if i % 40 == 0:
                sinks.append(recorder())
                kv.watch("/registry/a/", before, sinks[-1])
            await write(str(i))
        for sink in sinks:
            assert [event.revision for event in await sink.count(len(expected))] == sorted(expected)

    run(scenario)


def test_a_replay_carries_previous_values(run, recorder):
    async def scenario(kv):
        created = await kv.create("/registry/a/x", b"one")
        updated = await kv.update("/registry/a/x", b"two", created)
        deleted, _ = await kv.delete("/registry/a/x", updated)
        sink = recorder()
        kv.watch("/registry/a/", created, sink)
        assert await sink.count(2) == [
            Event("/registry/a/x", updated, b"two", b"one", created, created),
            Event("/registry/a/x", deleted, None, b"two", created, updated),
        ]

    run(scenario)


def test_a_watch_from_before_what_is_kept_fails_with_compacted(run, recorder):
    async def scenario(kv):
        first = await kv.create("/registry/a/x", b"one")
        revision = first
        for _ in range(4):
            revision = await kv.update("/registry/a/x", b"more", revision)
        await kv.compact(revision)
        sink = recorder()
        kv.watch("/registry/a/", first, sink)
        assert not sink.errors, "never from within watch()"
        await sink.until(lambda s: s.errors)
        assert isinstance(sink.errors[0], Compacted)
        assert sink.errors[0].compacted == revision
        await kv.update("/registry/a/x", b"last", revision)
        assert sink.seen == []
        assert len(sink.errors) == 1

    run(scenario)


def test_a_watch_from_the_compacted_revision_itself_misses_nothing(run, recorder):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"one")
        compacted = await kv.update("/registry/a/x", b"two", revision)
        later = await kv.update("/registry/a/x", b"three", compacted)
        await kv.compact(compacted)
        sink = recorder()
        kv.watch("/registry/a/", compacted, sink)
        assert await sink.count(1) == [Event("/registry/a/x", later, b"three", b"two", revision, compacted)]

    run(scenario)


def test_a_live_watch_outlives_a_compaction(run, recorder):
    async def scenario(kv):
        sink = recorder()
        first = await kv.create("/registry/a/x", b"one")
        kv.watch("/registry/a/", first, sink)
        second = await kv.update("/registry/a/x", b"two", first)
        await sink.count(1)
        await kv.compact(second)
        await kv.update("/registry/a/x", b"three", second)
        assert [event.value for event in await sink.count(2)] == [b"two", b"three"]
        assert not sink.errors

    run(scenario)


def test_a_watch_from_a_future_revision_waits_for_it(run, recorder):
    async def scenario(kv):
        now = await kv.create("/registry/a/0", b"")
        sink = recorder()
        kv.watch("/registry/a/", now + 2, sink)
        revisions = [await kv.create(f"/registry/a/{i}", b"") for i in range(1, 5)]
        assert [event.revision for event in await sink.count(2)] == revisions[2:]
        assert not sink.errors

    run(scenario)


def test_progress_is_told_when_asked_for_and_covers_what_was_written_before(run, recorder):
    async def scenario(kv):
        skip_without_progress(kv)
        sink = recorder()
        watch = kv.watch("/registry/a/", await kv.revision(), sink)
        await kv.create("/registry/a/x", b"")
        revision = await kv.create("/registry/b/x", b"")
        async with asyncio.timeout(20):
            while not sink.progressed or sink.progressed[-1] < revision:
                told = len(sink.progressed)
                watch.request_progress()
                await sink.until(lambda s, told=told: len(s.progressed) > told)
        assert [event.key for event in sink.seen] == ["/registry/a/x"]

    run(scenario)


def test_progress_asked_for_during_a_replay_comes_after_the_replayed_events(run, recorder):
    async def scenario(kv):
        skip_without_progress(kv)
        before = await kv.revision()
        await asyncio.gather(*(kv.create(f"/registry/a/{i}", b"") for i in range(500)))
        sink = recorder()
        watch = kv.watch("/registry/a/", before, sink)
        watch.request_progress()
        await sink.until(lambda s: len(s.seen) == 500)
        watch.request_progress()
        await sink.until(lambda s: s.progressed)
        assert sink.progressed[0] >= sink.seen[-1].revision
        assert len(sink.seen) == 500

    run(scenario)


def test_a_closed_watch_is_silent(run, recorder):
    async def scenario(kv):
        closed, open_ = recorder(), recorder()
        before = await kv.revision()
        watch = kv.watch("/registry/a/", before, closed)
        replaying = kv.watch("/registry/a/", 0, closed)
        kv.watch("/registry/a/", before, open_)
        watch.request_progress()
        watch.close()
        replaying.close()
        watch.close()
        await kv.create("/registry/a/x", b"")
        await open_.count(1)
        assert (closed.seen, closed.progressed, closed.errors) == ([], [], [])

    run(scenario)


def test_a_sink_may_close_and_open_watches_while_it_is_called(run, recorder):
    async def scenario(kv):
        second = recorder()

        class Restless(recorder):
            def events(self, events):
                super().events(events)
                if len(self.seen) == 1:
                    first.close()
                    kv.watch("/registry/a/", before, second)

        before = await kv.revision()
        sink = Restless()
        first = kv.watch("/registry/a/", before, sink)
        revisions = [await kv.create("/registry/a/x", b"")]
        await sink.count(1)
        revisions += [await kv.create(f"/registry/a/{i}", b"") for i in range(3)]
        assert [event.revision for event in await second.count(4)] == revisions
        assert len(sink.seen) == 1

    run(scenario)


def test_where_an_engine_is_in_step_a_write_is_acknowledged_after_every_sink_has_it(run, recorder):
    async def scenario(kv):
        if not kv.in_step:
            pytest.skip("events of this engine arrive on their own")
        sinks = [recorder() for _ in range(3)]
        for sink in sinks:
            kv.watch("/registry/a/", await kv.revision(), sink)

        async def write(i):
            revision = await kv.create(f"/registry/a/{i}", b"")
            assert all(revision in {event.revision for event in sink.seen} for sink in sinks)
            assert kv.current >= revision

        await asyncio.gather(*(write(i) for i in range(100)))

    run(scenario)


def test_a_sink_that_raises_harms_neither_writers_nor_other_sinks(run, recorder):
    async def scenario(kv):
        if not kv.in_step:
            pytest.skip("events of this engine arrive on their own")
        faults = []
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: faults.append(context["exception"]))

        class Broken(recorder):
            def events(self, events):
                raise ValueError("no")

        broken, whole = Broken(), recorder()
        now = await kv.revision()
        kv.watch("/registry/a/", now, broken)
        kv.watch("/registry/a/", now, whole)
        await kv.create("/registry/a/x", b"")
        await kv.create("/registry/a/y", b"")
        assert len(whole.seen) == 2
        assert [type(error) for error in broken.errors] == [Unavailable]
        assert [str(fault) for fault in faults] == ["no"]

    run(scenario)
