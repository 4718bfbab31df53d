"""Compaction: history before a revision is gone, the newest value of every key stays."""

import pytest

from kapi.storage.kv import Compacted, FutureRevision


def test_what_is_older_than_the_compacted_revision_cannot_be_read(run):
    async def scenario(kv):
        first = await kv.create("/registry/a/x", b"one")
        second = await kv.update("/registry/a/x", b"two", first)
        third = await kv.update("/registry/a/x", b"three", second)
        await kv.compact(second)
        with pytest.raises(Compacted) as raised:
            await kv.get("/registry/a/x", first)
        assert raised.value.compacted == second
        with pytest.raises(Compacted):
            await kv.range("/registry/a/", revision=first)
        assert (await kv.get("/registry/a/x", second))[0].value == b"two"
        assert (await kv.get("/registry/a/x", third))[0].value == b"three"
        assert (await kv.stats()).compacted == second

    run(scenario)


def test_the_newest_value_of_every_key_stays_however_old(run):
    async def scenario(kv):
        quiet = await kv.create("/registry/a/quiet", b"old")
        busy = await kv.create("/registry/a/busy", b"0")
        for i in range(1, 20):
            busy = await kv.update("/registry/a/busy", b"%d" % i, busy)
        await kv.compact(busy)
        items = (await kv.range("/registry/a/")).items
        assert [(i.key, i.value, i.revision) for i in items] == [
            ("/registry/a/busy", b"19", busy),
            ("/registry/a/quiet", b"old", quiet),
        ]
        assert (await kv.range("/registry/a/", revision=busy)).items == items
        await kv.update("/registry/a/quiet", b"new", quiet)
        assert (await kv.get("/registry/a/quiet", busy))[0].value == b"old"

    run(scenario)


def test_at_the_compacted_revision_a_deleted_key_stays_deleted(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"one")
        deleted, _ = await kv.delete("/registry/a/x", revision)
        await kv.create("/registry/a/y", b"")
        await kv.compact(deleted)
        assert (await kv.get("/registry/a/x", deleted))[0] is None
        assert (await kv.range("/registry/a/", revision=deleted)).items == []
        again = await kv.create("/registry/a/x", b"two")
        assert (await kv.get("/registry/a/x"))[0].created == again

    run(scenario)


def test_a_deleted_key_can_still_be_read_before_its_delete_until_that_is_compacted(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"one")
        deleted, _ = await kv.delete("/registry/a/x", revision)
        await kv.compact(revision)
        assert (await kv.get("/registry/a/x", revision))[0].value == b"one"
        await kv.compact(deleted)
        with pytest.raises(Compacted):
            await kv.get("/registry/a/x", revision)

    run(scenario)


def test_compacting_the_future_is_refused_and_compacting_again_is_harmless(run):
    async def scenario(kv):
        first = await kv.create("/registry/a/x", b"one")
        second = await kv.update("/registry/a/x", b"two", first)
        with pytest.raises(FutureRevision):
            await kv.compact(second + 1)
        await kv.compact(second)
        await kv.compact(second)
        await kv.compact(first)
        assert (await kv.stats()).compacted == second
        assert (await kv.get("/registry/a/x"))[0].value == b"two"

    run(scenario)


def test_revisions_go_on_after_the_newest_delete_was_compacted_and_the_store_restarted(durable_store):
    async def first(kv):
        revision = await kv.create("/registry/a/x", b"one")
        seen["deleted"], _ = await kv.delete("/registry/a/x", revision)
        await kv.compact(seen["deleted"])

    async def second(kv):
        assert await kv.revision() >= seen["deleted"]
        assert (await kv.stats()).compacted == seen["deleted"]
        assert (await kv.range("/registry/a/")).items == []
        with pytest.raises(Compacted):
            await kv.get("/registry/a/x", seen["deleted"] - 1)
        assert await kv.create("/registry/a/x", b"two") > seen["deleted"]

    seen = {}
    durable_store.run(first)
    durable_store.run(second)
