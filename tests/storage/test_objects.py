"""Object stores: guaranteed updates, deletes and reads, on caches that are in step, behind, or not there."""

from __future__ import annotations

import asyncio

import pytest

from kapi.storage import kv
from kapi.storage.cacher import cacher as cacher_module
from kapi.storage.cacher.cacher import NotReady
from kapi.storage.memory import MemoryKV
from kapi.storage.objects import KEEP, Query, Remove, Write

SCOPE = "/registry/configmaps/"


class Refused(Exception):
    """What a change or a check in these tests objects with."""


def to(shelf, name, data):
    async def change(current):
        return Write(shelf.value(name, data))

    return change


def test_what_is_written_is_read_with_its_revision(play, data_of):
    async def scenario(shelf):
        created = await shelf.create("x", "one")
        assert created.object["metadata"]["resourceVersion"] == str(created.revision)
        for revision in (None, kv.NO_REVISION, created.revision):
            found = await shelf.objects.get(shelf.key("x"), revision)
            assert (found.bytes, found.revision) == (created.bytes, created.revision)
        updated, was_created = await shelf.objects.update(shelf.key("x"), to(shelf, "x", "two"))
        assert (data_of(updated), was_created) == ("two", False)
        assert updated.revision > created.revision == updated.created
        with pytest.raises(kv.KeyExists):
            await shelf.create("x")
        assert await shelf.objects.get(shelf.key("y"), None) is None

    play(scenario)


def test_no_update_is_lost_among_many(play, data_of):
    async def scenario(shelf):
        await shelf.create("n", "0")

        async def count(current):
            await asyncio.sleep(0)
            return Write(shelf.value("n", str(int(data_of(current)) + 1)))

        done = await asyncio.gather(*(shelf.objects.update(shelf.key("n"), count) for _ in range(25)))
        assert sorted(int(data_of(entry)) for entry, _ in done) == list(range(1, 26))
        assert data_of(await shelf.objects.get(shelf.key("n"), None)) == "25"

    play(scenario)


def test_an_update_of_what_is_not_there_is_refused_or_creates(play, data_of):
    async def scenario(shelf):
        with pytest.raises(kv.NotFound):
            await shelf.objects.update(shelf.key("x"), to(shelf, "x", "one"))
        entry, created = await shelf.objects.update(shelf.key("x"), to(shelf, "x", "one"), create=True)
        assert (data_of(entry), created) == ("one", True)

    play(scenario)


def test_an_error_of_the_change_is_the_callers_and_not_tried_again(play):
    async def scenario(shelf):
        await shelf.create("x")
        await shelf.objects.get(shelf.key("x"), kv.NO_REVISION)
        asked = []

        async def refuse(current):
            asked.append(current.revision)
            raise Refused

        with pytest.raises(Refused):
            await shelf.objects.update(shelf.key("x"), refuse)
        assert len(asked) == 1

    play(scenario)


def test_an_update_may_remove_the_object_and_shows_what_it_decided(play, data_of):
    async def scenario(shelf):
        created = await shelf.create("x", "one")

        async def remove(current):
            return Remove(shelf.value("x", "last"))

        entry, _ = await shelf.objects.update(shelf.key("x"), remove)
        assert (data_of(entry), entry.revision) == ("last", created.revision)
        assert await shelf.objects.get(shelf.key("x"), None) is None

    play(scenario)


def test_a_delete_answers_with_the_last_state_at_its_own_revision(play, data_of):
    async def scenario(shelf):
        created = await shelf.create("x", "one")
        gone = await shelf.objects.delete(shelf.key("x"), lambda entry: None)
        assert data_of(gone) == "one"
        assert gone.revision == await shelf.engine.revision() > created.revision
        assert gone.object["metadata"]["resourceVersion"] == str(gone.revision)
        with pytest.raises(kv.NotFound):
            await shelf.objects.delete(shelf.key("x"), lambda entry: None)

    play(scenario)


# A cache that is behind


async def behind(shelf, name="x", old="old", new="new"):
    """The cache has the old state of an object, the store a new one."""
    await shelf.create(name, old)
    await shelf.objects.list(Query(scope=SCOPE))
    shelf.engine.held = True
    await shelf.elsewhere(name, new)


def test_an_update_from_a_stale_entry_is_made_again_from_the_newest(lagging, data_of):
    async def scenario(shelf):
        await behind(shelf)
        seen = []

        async def change(current):
            seen.append(data_of(current))
            return Write(shelf.value("x", "mine"))

        await shelf.objects.update(shelf.key("x"), change)
        assert seen == ["old", "new"]

    lagging(scenario)


def test_an_error_because_of_a_stale_entry_is_not_the_last_word(lagging, data_of):
    async def scenario(shelf):
        await behind(shelf)

        async def change(current):
            if data_of(current) == "old":
                raise Refused
            return Write(shelf.value("x", "mine"))

        entry, _ = await shelf.objects.update(shelf.key("x"), change)
        assert data_of(entry) == "mine"

    lagging(scenario)


def test_nothing_to_do_on_a_stale_entry_is_asked_again(lagging, data_of):
    async def scenario(shelf):
        await behind(shelf)

        async def change(current):
            return KEEP if data_of(current) == "old" else Write(shelf.value("x", "mine"))

        entry, _ = await shelf.objects.update(shelf.key("x"), change)
        assert data_of(entry) == "mine"

    lagging(scenario)


def test_nothing_to_do_on_what_has_been_deleted_elsewhere_is_not_found(lagging):
    async def scenario(shelf):
        await behind(shelf)
        await shelf.elsewhere("x", None)

        async def keep(current):
            return KEEP

        with pytest.raises(kv.NotFound):
            await shelf.objects.update(shelf.key("x"), keep)

    lagging(scenario)


def test_nothing_to_do_is_believed_when_the_entry_is_the_newest_after_all(lagging, data_of):
    async def scenario(shelf):
        await shelf.create("x", "same")
        await shelf.objects.list(Query(scope=SCOPE))
        await shelf.elsewhere("other", "moves the store's revision on")
        asked = []

        async def keep(current):
            asked.append(current)
            return KEEP

        entry, created = await shelf.objects.update(shelf.key("x"), keep)
        assert (data_of(entry), created, len(asked)) == ("same", False, 1)

    lagging(scenario)


def test_what_the_cache_has_not_seen_yet_is_found_by_writes(lagging, data_of):
    async def scenario(shelf):
        await shelf.objects.list(Query(scope=SCOPE))
        shelf.engine.held = True
        await shelf.elsewhere("x", "theirs")
        entry, created = await shelf.objects.update(shelf.key("x"), to(shelf, "x", "mine"))
        assert (data_of(entry), created) == ("mine", False)
        await shelf.elsewhere("y", "theirs")
        seen = []

        async def change(current):
            seen.append(data_of(current))
            return Write(shelf.value("y", "mine"))

        entry, created = await shelf.objects.update(shelf.key("y"), change, create=True)
        assert (seen, created) == ([None, "theirs"], False)
        await shelf.elsewhere("z", "theirs")
        assert data_of(await shelf.objects.delete(shelf.key("z"), lambda entry: None)) == "theirs"

    lagging(scenario)


def test_a_delete_checks_the_newest_state_not_the_stale_one(lagging, data_of):
    async def scenario(shelf):
        await behind(shelf)

        def only_old(entry):
            if data_of(entry) != "old":
                raise Refused

        with pytest.raises(Refused):
            await shelf.objects.delete(shelf.key("x"), only_old)
        assert data_of(await shelf.objects.get(shelf.key("x"), None)) == "new"

        def only_new(entry):
            if data_of(entry) != "new":
                raise Refused

        assert data_of(await shelf.objects.delete(shelf.key("x"), only_new)) == "new"

    lagging(scenario)


def test_a_delete_checks_even_when_the_stale_entry_turns_out_to_be_the_newest(lagging):
    async def scenario(shelf):
        await shelf.create("x")
        await shelf.objects.list(Query(scope=SCOPE))

        def refuse(entry):
            raise Refused

        with pytest.raises(Refused):
            await shelf.objects.delete(shelf.key("x"), refuse)
        assert await shelf.objects.get(shelf.key("x"), None) is not None

    lagging(scenario)


def test_a_consistent_read_waits_for_a_cache_that_is_behind(lagging, data_of):
    async def scenario(shelf):
        await behind(shelf)
        listing = asyncio.create_task(shelf.objects.list(Query(scope=SCOPE)))
        assert data_of(await shelf.objects.get(shelf.key("x"), None)) == "new"
        assert data_of(await shelf.objects.get(shelf.key("x"), kv.NO_REVISION)) == "old"
        assert not listing.done()
        shelf.engine.release()
        listed = await listing
        assert [data_of(entry) for entry in listed.entries] == ["new"]
        assert listed.revision >= await shelf.engine.revision()

    lagging(scenario)


def test_a_consistent_read_goes_to_the_store_when_the_cache_stays_behind(lagging, data_of, monkeypatch):
    monkeypatch.setattr(cacher_module, "CATCH_UP_SECONDS", 0.05)

    async def scenario(shelf):
        await behind(shelf)
        listed = await shelf.objects.list(Query(scope=SCOPE))
        assert [data_of(entry) for entry in listed.entries] == ["new"]
        newest = await shelf.engine.revision()
        listed = await shelf.objects.list(Query(scope=SCOPE, revision=newest))
        assert ([data_of(entry) for entry in listed.entries], listed.revision) == (["new"], newest)
        assert data_of(await shelf.objects.get(shelf.key("x"), newest)) == "new"

    lagging(scenario)


def test_an_etcd_that_tells_no_progress_is_asked_for_every_consistent_read(lagging, data_of):
    async def scenario(shelf):
        shelf.engine.supports_progress = False
        await behind(shelf)
        listed = await shelf.objects.list(Query(scope=SCOPE))
        assert [data_of(entry) for entry in listed.entries] == ["new"]
        feed = await shelf.objects.feed(SCOPE, newest=True)
        entries, _ = await feed.state(kv.NO_REVISION)
        assert [data_of(entry) for entry in entries] == ["new"]

    lagging(scenario)


# A cache that cannot be filled


class Unlistable(MemoryKV):
    """Its long ranges fail, as those of a store under load."""

    async def range(self, prefix, *, start="", limit=0, revision=kv.NO_REVISION):
        if limit > 1000:
            raise kv.Unavailable("too much")
        return await super().range(prefix, start=start, limit=limit, revision=revision)


def test_while_the_cache_cannot_be_filled_only_what_is_cheap_for_the_store_is_served(new_shelf, data_of, monkeypatch):
    monkeypatch.setattr("kapi.storage.objects.FILL_SECONDS", 0.01)

    async def scenario():
        engine = Unlistable()
        await engine.start()
        shelf = new_shelf.over(engine)
        try:
            await shelf.create("x", "one")
            assert data_of(await shelf.objects.get(shelf.key("x"), kv.NO_REVISION)) == "one"
            entry, _ = await shelf.objects.update(shelf.key("x"), to(shelf, "x", "two"))
            assert data_of(entry) == "two"
            page = await shelf.objects.list(Query(scope=SCOPE, limit=5))
            assert [data_of(entry) for entry in page.entries] == ["two"]
            for query in (
                Query(scope=SCOPE),
                Query(scope=SCOPE, revision=kv.NO_REVISION),
                Query(scope=SCOPE, limit=5, selects=lambda entry: True),
            ):
                with pytest.raises(NotReady, match=r"storage is \(re\)initializing"):
                    await shelf.objects.list(query)
            with pytest.raises(NotReady) as refused:
                await shelf.objects.feed(SCOPE, newest=False)
            assert refused.value.retry_after == 2
            await shelf.objects.delete(shelf.key("x"), lambda entry: None)
        finally:
            await shelf.cacher.close()
            await engine.close()

    asyncio.run(scenario())


# Objects that expire


def test_objects_created_together_share_a_lease(expiring):
    async def scenario(shelf):
        await shelf.create("first")
        await shelf.create("second")
        leases = {(await shelf.engine.get(shelf.key(name)))[0].lease for name in ("first", "second")}
        assert len(leases) == 1
        assert leases != {0}

    expiring(scenario)


def test_an_update_keeps_the_object_alive_with_a_lease_of_its_own(expiring):
    async def scenario(shelf):
        await shelf.create("x")
        await shelf.objects.update(shelf.key("x"), to(shelf, "x", "again"))
        assert (await shelf.engine.get(shelf.key("x")))[0].lease

    expiring(scenario)


def test_a_lease_that_ended_before_it_was_used_is_granted_again(new_shelf):
    class Forgetful(MemoryKV):
        grants = 0

        async def grant(self, ttl):
            self.grants += 1
            return 4711 if self.grants == 1 else await super().grant(ttl)

    async def scenario():
        engine = Forgetful()
        await engine.start()
        shelf = new_shelf.over(engine, ttl=1000)
        await shelf.create("x")
        assert engine.grants == 2
        assert (await engine.get(shelf.key("x")))[0].lease not in (0, 4711)
        await engine.close()

    asyncio.run(scenario())
