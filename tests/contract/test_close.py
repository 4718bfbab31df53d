"""Opening and closing: what was asked for before is done, what comes after is refused."""

import asyncio

import pytest

from kapi.storage.kv import Unavailable


def test_every_call_is_refused_before_start_and_after_close(store, recorder):
    async def refused(kv):
        calls = [
            lambda: kv.create("/registry/a/x", b""),
            lambda: kv.update("/registry/a/x", b"", 1),
            lambda: kv.delete("/registry/a/x", 1),
            lambda: kv.get("/registry/a/x"),
            lambda: kv.range("/registry/a/"),
            lambda: kv.count("/registry/a/"),
            kv.revision,
            lambda: kv.grant(10),
            lambda: kv.compact(1),
            kv.stats,
        ]
        for call in calls:
            with pytest.raises(Unavailable):
                await call()

    async def scenario():
        kv = store.new()
        await refused(kv)
        await kv.start()
        await kv.create("/registry/a/closing", b"")
        await kv.close()
        await kv.close()
        await refused(kv)

    asyncio.run(scenario())


def test_writes_under_way_are_decided_before_the_store_closes(durable_store):
    async def scenario():
        kv = durable_store.new()
        await kv.start()
        writes = [asyncio.create_task(kv.create(f"/registry/a/{i:03}", b"")) for i in range(50)]
        await asyncio.sleep(0)
        await kv.close()
        results = await asyncio.gather(*writes, return_exceptions=True)
        written = sum(isinstance(r, int) for r in results)
        assert all(isinstance(r, (int, Unavailable)) for r in results)
        kv = durable_store.new()
        await kv.start()
        assert await kv.count("/registry/a/") >= written
        await kv.close()

    asyncio.run(scenario())


def test_watches_end_when_the_store_closes(store, recorder):
    async def scenario():
        kv = store.new()
        await kv.start()
        live, closed = recorder(), recorder()
        kv.watch("/registry/a/", await kv.revision(), live)
        kv.watch("/registry/a/", await kv.revision(), closed).close()
        await kv.create("/registry/a/x", b"")
        await live.count(1)
        await kv.close()
        await live.until(lambda s: s.errors)
        assert [type(error) for error in live.errors] == [Unavailable]
        assert (closed.seen, closed.errors) == ([], [])

    asyncio.run(scenario())


def test_stats_tell_where_the_store_is(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"v" * 1000)
        stats = await kv.stats()
        assert stats.revision >= revision
        assert stats.compacted < revision
        assert stats.size_bytes >= stats.in_use_bytes > 0
        assert stats.version

    run(scenario)
