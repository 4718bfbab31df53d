"""Create, update, delete: one write, one revision, and only from the state its caller has seen."""

import asyncio

import pytest

from kapi.storage.kv import Conflict, KeyExists, KeyValue, NotFound, TooLarge


def test_a_created_key_is_there_at_the_revision_that_was_returned(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"one")
        found, current = await kv.get("/registry/a/x")
        assert found == KeyValue("/registry/a/x", b"one", revision, revision, 1, 0)
        assert current == revision == await kv.revision()

    run(scenario)


def test_an_empty_value_is_a_value(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"")
        assert (await kv.get("/registry/a/x"))[0].value == b""
        with pytest.raises(KeyExists):
            await kv.create("/registry/a/x", b"")
        await kv.delete("/registry/a/x", revision)
        assert (await kv.get("/registry/a/x"))[0] is None

    run(scenario)


def test_creating_a_key_that_exists_changes_nothing(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"one")
        with pytest.raises(KeyExists) as raised:
            await kv.create("/registry/a/x", b"two")
        assert raised.value.key == "/registry/a/x"
        found, current = await kv.get("/registry/a/x")
        assert (found.value, current) == (b"one", revision)

    run(scenario)


def test_an_update_keeps_the_creation_and_counts_the_version(run):
    async def scenario(kv):
        created = await kv.create("/registry/a/x", b"one")
        second = await kv.update("/registry/a/x", b"two", created)
        third = await kv.update("/registry/a/x", b"three", second)
        found, _ = await kv.get("/registry/a/x")
        assert found == KeyValue("/registry/a/x", b"three", third, created, 3, 0)

    run(scenario)


def test_an_update_from_a_stale_revision_is_a_conflict_that_carries_the_current_state(run):
    async def scenario(kv):
        created = await kv.create("/registry/a/x", b"one")
        second = await kv.update("/registry/a/x", b"two", created)
        with pytest.raises(Conflict) as raised:
            await kv.update("/registry/a/x", b"three", created)
        assert raised.value.current == KeyValue("/registry/a/x", b"two", second, created, 2, 0)
        assert (await kv.get("/registry/a/x"))[0].value == b"two"

    run(scenario)


def test_an_update_from_a_revision_that_has_not_happened_is_a_conflict(run):
    async def scenario(kv):
        created = await kv.create("/registry/a/x", b"one")
        with pytest.raises(Conflict):
            await kv.update("/registry/a/x", b"two", created + 1)

    run(scenario)


def test_what_is_not_there_can_be_neither_updated_nor_deleted(run):
    async def scenario(kv):
        before = await kv.revision()
        with pytest.raises(NotFound):
            await kv.update("/registry/a/x", b"one", before)
        with pytest.raises(NotFound) as raised:
            await kv.delete("/registry/a/x", before)
        assert raised.value.key == "/registry/a/x"
        assert await kv.revision() == before

    run(scenario)


def test_a_delete_returns_what_was_there(run):
    async def scenario(kv):
        created = await kv.create("/registry/a/x", b"one")
        second = await kv.update("/registry/a/x", b"two", created)
        deleted, was = await kv.delete("/registry/a/x", second)
        assert was == KeyValue("/registry/a/x", b"two", second, created, 2, 0)
        assert deleted > second
        assert await kv.get("/registry/a/x") == (None, deleted)

    run(scenario)


def test_a_delete_from_a_stale_revision_is_a_conflict_that_carries_the_current_state(run):
    async def scenario(kv):
        created = await kv.create("/registry/a/x", b"one")
        await kv.update("/registry/a/x", b"two", created)
        with pytest.raises(Conflict) as raised:
            await kv.delete("/registry/a/x", created)
        assert raised.value.current.value == b"two"

    run(scenario)


def test_a_key_created_again_starts_anew(run):
    async def scenario(kv):
        first = await kv.create("/registry/a/x", b"one")
        deleted, _ = await kv.delete("/registry/a/x", first)
        with pytest.raises(NotFound):
            await kv.update("/registry/a/x", b"two", first)
        again = await kv.create("/registry/a/x", b"three")
        assert first < deleted < again
        assert (await kv.get("/registry/a/x"))[0] == KeyValue("/registry/a/x", b"three", again, again, 1, 0)
        with pytest.raises(Conflict):
            await kv.delete("/registry/a/x", first)

    run(scenario)


def test_every_write_has_a_revision_of_its_own_and_they_only_grow(run):
    async def scenario(kv):
        before = await kv.revision()
        revisions = await asyncio.gather(*(kv.create(f"/registry/a/{i:04}", b"v") for i in range(1200)))
        assert len(set(revisions)) == 1200
        assert min(revisions) > before
        assert await kv.revision() == max(revisions)

    run(scenario)


def test_of_concurrent_updates_from_one_revision_exactly_one_wins(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"start")
        for _ in range(5):
            writes = [kv.update("/registry/a/x", b"%d" % i, revision) for i in range(20)]
            results = await asyncio.gather(*writes, return_exceptions=True)
            won = [(i, r) for i, r in enumerate(results) if isinstance(r, int)]
            lost = [r for r in results if isinstance(r, Conflict)]
            assert (len(won), len(lost)) == (1, 19)
            winner, revision = won[0]
            assert {error.current.revision for error in lost} == {revision}
            assert {error.current.value for error in lost} == {b"%d" % winner}

    run(scenario)


def test_of_concurrent_creates_of_one_key_exactly_one_wins(run):
    async def scenario(kv):
        writes = [kv.create("/registry/a/x", b"%d" % i) for i in range(20)]
        results = await asyncio.gather(*writes, return_exceptions=True)
        won = [i for i, r in enumerate(results) if isinstance(r, int)]
        assert len(won) == 1
        assert sum(isinstance(r, KeyExists) for r in results) == 19
        assert (await kv.get("/registry/a/x"))[0].value == b"%d" % won[0]

    run(scenario)


def test_of_a_delete_and_an_update_from_one_revision_exactly_one_wins(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"start")
        deleted, updated = await asyncio.gather(
            kv.delete("/registry/a/x", revision), kv.update("/registry/a/x", b"new", revision), return_exceptions=True
        )
        found, _ = await kv.get("/registry/a/x")
        if isinstance(updated, int):
            assert isinstance(deleted, Conflict)
            assert found.value == b"new"
        else:
            assert isinstance(updated, NotFound)
            assert found is None

    run(scenario)


def test_a_write_whose_caller_gives_up_is_whole_or_not_there_and_blocks_nobody(run):
    async def scenario(kv):
        task = asyncio.create_task(kv.create("/registry/a/x", b"one"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        try:
            revision = await kv.create("/registry/a/x", b"two")
        except KeyExists:
            revision = (await kv.get("/registry/a/x"))[0].revision
        await kv.update("/registry/a/x", b"three", revision)
        assert (await kv.get("/registry/a/x"))[0].value == b"three"

    run(scenario)


def test_values_of_a_megabyte_and_a_half_are_taken_and_come_back_unchanged(run):
    async def scenario(kv):
        value = bytes(range(256)) * 5860
        revision = await kv.create("/registry/a/large", value)
        assert (await kv.get("/registry/a/large"))[0].value == value
        assert (await kv.range("/registry/a/")).items[0].value == value
        _, was = await kv.delete("/registry/a/large", revision)
        assert was.value == value

    run(scenario)


def test_a_value_that_is_too_large_is_refused_and_harms_no_other_write(run):
    async def scenario(kv):
        results = await asyncio.gather(
            kv.create("/registry/a/x", b"1"),
            kv.create("/registry/a/y", bytes(32 << 20)),
            kv.create("/registry/a/z", b"1"),
            return_exceptions=True,
        )
        assert [isinstance(r, int) for r in results] == [True, False, True]
        assert isinstance(results[1], TooLarge)
        with pytest.raises(TooLarge):
            await kv.update("/registry/a/x", bytes(32 << 20), results[0])
        assert [item.key for item in (await kv.range("/registry/a/")).items] == ["/registry/a/x", "/registry/a/z"]

    run(scenario)


def test_what_was_written_is_there_after_a_restart_and_revisions_go_on(durable_store):
    async def first(kv):
        seen["kept"] = await kv.create("/registry/a/kept", b"one")
        seen["kept"] = await kv.update("/registry/a/kept", b"two", seen["kept"])
        gone = await kv.create("/registry/a/gone", b"x")
        seen["last"], _ = await kv.delete("/registry/a/gone", gone)

    async def second(kv):
        assert await kv.revision() >= seen["last"]
        found, _ = await kv.get("/registry/a/kept")
        assert (found.value, found.revision, found.version) == (b"two", seen["kept"], 2)
        assert (await kv.get("/registry/a/gone"))[0] is None
        assert await kv.update("/registry/a/kept", b"three", seen["kept"]) > seen["last"]

    seen = {}
    durable_store.run(first)
    durable_store.run(second)
