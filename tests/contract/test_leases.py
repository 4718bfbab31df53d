"""Leases: keys that go by themselves, with events."""

import asyncio

import pytest

from kapi.storage.kv import LeaseNotFound


def test_a_key_goes_with_its_lease_and_its_watchers_are_told(run, recorder):
    async def scenario(kv):
        sink = recorder()
        kv.watch("/registry/a/", await kv.revision(), sink)
        lease = await kv.grant(1)
        created = await kv.create("/registry/a/x", b"short", lease=lease)
        assert (await kv.get("/registry/a/x"))[0].lease == lease
        events = await sink.count(2)
        assert (events[1].key, events[1].value, events[1].previous) == ("/registry/a/x", None, b"short")
        assert (events[1].created, events[1].previous_revision) == (created, created)
        assert (await kv.get("/registry/a/x"))[0] is None
        assert await kv.revision() >= events[1].revision

    run(scenario)


def test_all_keys_of_a_lease_go_and_no_others(run, recorder):
    async def scenario(kv):
        sink = recorder()
        kv.watch("/registry/a/", await kv.revision(), sink)
        short, long = await kv.grant(1), await kv.grant(3600)
        assert short != long
        await asyncio.gather(*(kv.create(f"/registry/a/{i:03}", b"", lease=short) for i in range(300)))
        await kv.create("/registry/a/long", b"", lease=long)
        await kv.create("/registry/a/forever", b"")
        await sink.until(lambda s: sum(event.value is None for event in s.seen) == 300)
        assert [item.key for item in (await kv.range("/registry/a/")).items] == [
            "/registry/a/forever",
            "/registry/a/long",
        ]

    run(scenario)


def test_an_update_without_the_lease_frees_the_key_from_it(run, recorder):
    async def scenario(kv):
        sink = recorder()
        kv.watch("/registry/a/", await kv.revision(), sink)
        lease = await kv.grant(1)
        revision = await kv.create("/registry/a/freed", b"", lease=lease)
        await kv.create("/registry/a/goes", b"", lease=lease)
        await kv.update("/registry/a/freed", b"kept", revision)
        await sink.until(lambda s: any(event.value is None for event in s.seen))
        found, _ = await kv.get("/registry/a/freed")
        assert (found.value, found.lease) == (b"kept", 0)
        assert (await kv.get("/registry/a/goes"))[0] is None

    run(scenario)


def test_an_update_with_another_lease_lives_as_long_as_that_one(run, recorder):
    async def scenario(kv):
        sink = recorder()
        kv.watch("/registry/a/", await kv.revision(), sink)
        short, long = await kv.grant(1), await kv.grant(3600)
        revision = await kv.create("/registry/a/renewed", b"", lease=short)
        await kv.create("/registry/a/goes", b"", lease=short)
        await kv.update("/registry/a/renewed", b"", revision, lease=long)
        await sink.until(lambda s: any(event.value is None for event in s.seen))
        assert (await kv.get("/registry/a/renewed"))[0].lease == long

    run(scenario)


def test_a_lease_that_never_was_is_refused(run):
    async def scenario(kv):
        with pytest.raises(LeaseNotFound) as raised:
            await kv.create("/registry/a/x", b"", lease=4711)
        assert raised.value.lease == 4711
        revision = await kv.create("/registry/a/x", b"")
        with pytest.raises(LeaseNotFound):
            await kv.update("/registry/a/x", b"", revision, lease=4711)
        assert (await kv.get("/registry/a/x"))[0].revision == revision

    run(scenario)


def test_a_lease_outlives_a_restart(durable_store, recorder):
    async def first(kv):
        lease = await kv.grant(2)
        seen["revision"] = await kv.create("/registry/a/x", b"", lease=lease)
        await kv.create("/registry/a/kept", b"", lease=await kv.grant(3600))

    async def second(kv):
        sink = recorder()
        kv.watch("/registry/a/x", seen["revision"], sink)
        assert (await sink.count(1))[0].value is None
        assert [item.key for item in (await kv.range("/registry/a/")).items] == ["/registry/a/kept"]

    seen = {}
    durable_store.run(first)
    durable_store.run(second)
