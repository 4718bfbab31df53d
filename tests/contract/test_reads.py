"""Get, range, count: consistent, in byte order, now and at every revision that is kept."""

import asyncio

import pytest

from kapi.storage.kv import FutureRevision, KeyValue

KEYS = ["/registry/pods/a/1", "/registry/pods/a/2", "/registry/pods/a-b/1", "/registry/pods/b/1", "/registry/podsx/a"]


async def fill(kv, keys):
    return {key: await kv.create(key, key.encode()) for key in keys}


def keys_of(page):
    return [item.key for item in page.items]


def test_a_missing_key_is_none_with_the_stores_revision(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"one")
        assert await kv.get("/registry/a/y") == (None, revision)
        assert await kv.get("/registry/a/") == (None, revision)

    run(scenario)


def test_a_get_at_an_old_revision_sees_that_moment(run):
    async def scenario(kv):
        before = await kv.create("/registry/a/other", b"")
        created = await kv.create("/registry/a/x", b"one")
        updated = await kv.update("/registry/a/x", b"two", created)
        deleted, _ = await kv.delete("/registry/a/x", updated)
        again = await kv.create("/registry/a/x", b"three")
        assert (await kv.get("/registry/a/x", before))[0] is None
        assert (await kv.get("/registry/a/x", created))[0] == KeyValue("/registry/a/x", b"one", created, created)
        assert (await kv.get("/registry/a/x", updated))[0].value == b"two"
        assert (await kv.get("/registry/a/x", deleted))[0] is None
        assert await kv.get("/registry/a/x", created) == (
            KeyValue("/registry/a/x", b"one", created, created),
            again,
        )

    run(scenario)


def test_a_revision_that_has_not_happened_cannot_be_read(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"one")
        with pytest.raises(FutureRevision) as raised:
            await kv.get("/registry/a/x", revision + 1)
        assert raised.value.current == revision
        with pytest.raises(FutureRevision):
            await kv.range("/registry/a/", revision=revision + 5)

    run(scenario)


def test_a_range_has_the_prefix_and_nothing_else_in_byte_order(run):
    async def scenario(kv):
        await fill(kv, reversed(KEYS))
        page = await kv.range("/registry/pods/")
        assert keys_of(page) == sorted(KEYS[:4])
        assert keys_of(page).index("/registry/pods/a-b/1") == 0  # "-" is before "/"
        assert [item.value for item in page.items] == [key.encode() for key in sorted(KEYS[:4])]
        assert (page.count, page.more, page.revision) == (4, False, await kv.revision())
        assert keys_of(await kv.range("/registry/pods")) == sorted(KEYS)
        assert keys_of(await kv.range("/registry/pods/a/")) == ["/registry/pods/a/1", "/registry/pods/a/2"]

    run(scenario)


def test_upper_case_sorts_before_lower_case_and_digits_before_both(run):
    async def scenario(kv):
        await fill(kv, ["/registry/a/b", "/registry/a/B", "/registry/a/1", "/registry/a/~", "/registry/a/_"])
        assert [key[-1] for key in keys_of(await kv.range("/registry/a/"))] == ["1", "B", "_", "b", "~"]

    run(scenario)


def test_an_empty_range_is_an_empty_page_at_the_stores_revision(run):
    async def scenario(kv):
        revision = await kv.create("/registry/a/x", b"")
        page = await kv.range("/registry/b/")
        assert (page.items, page.revision, page.more, page.count) == ([], revision, False, 0)

    run(scenario)


def test_pages_join_to_the_whole_and_count_what_is_left(run):
    async def scenario(kv):
        names = [f"/registry/a/{i:03}" for i in range(25)]
        await fill(kv, names)
        revision = await kv.revision()
        got, start, counts = [], "", []
        while True:
            page = await kv.range("/registry/a/", start=start, limit=10, revision=revision)
            got += keys_of(page)
            counts.append((page.count, page.more))
            assert page.revision == revision
            if not page.more:
                break
            start = got[-1] + "\0"
            await kv.create(f"/registry/a/{len(got):03}-later", b"")
        assert got == names
        assert counts == [(25, True), (15, True), (5, False)]

    run(scenario)


def test_a_limit_that_is_met_exactly_leaves_nothing_more(run):
    async def scenario(kv):
        await fill(kv, ["/registry/a/1", "/registry/a/2"])
        page = await kv.range("/registry/a/", limit=2)
        assert (len(page.items), page.more, page.count) == (2, False, 2)
        page = await kv.range("/registry/a/", limit=1)
        assert (len(page.items), page.more, page.count) == (1, True, 2)

    run(scenario)


def test_start_may_lie_before_between_and_after_the_keys_of_the_prefix(run):
    async def scenario(kv):
        await fill(kv, ["/registry/a/1", "/registry/a/3", "/registry/b/1"])
        assert keys_of(await kv.range("/registry/a/", start="/")) == ["/registry/a/1", "/registry/a/3"]
        assert keys_of(await kv.range("/registry/a/", start="/registry/a/2")) == ["/registry/a/3"]
        assert keys_of(await kv.range("/registry/a/", start="/registry/a/3")) == ["/registry/a/3"]
        for start in ("/registry/a/4", "/registry/b/1", "/z"):
            assert (await kv.range("/registry/a/", start=start)).items == []

    run(scenario)


def test_a_range_at_an_old_revision_sees_what_was_deleted_and_not_what_came_later(run):
    async def scenario(kv):
        revisions = await fill(kv, ["/registry/a/1", "/registry/a/2", "/registry/a/3"])
        then = await kv.revision()
        await kv.delete("/registry/a/1", revisions["/registry/a/1"])
        await kv.update("/registry/a/2", b"new", revisions["/registry/a/2"])
        await kv.create("/registry/a/0", b"")
        page = await kv.range("/registry/a/", revision=then, limit=2)
        assert [(i.key, i.value, i.version) for i in page.items] == [
            ("/registry/a/1", b"/registry/a/1", 1),
            ("/registry/a/2", b"/registry/a/2", 1),
        ]
        assert (page.revision, page.more, page.count) == (then, True, 3)
        assert keys_of(await kv.range("/registry/a/")) == ["/registry/a/0", "/registry/a/2", "/registry/a/3"]

    run(scenario)


def test_a_count_is_of_live_keys_with_the_prefix(run):
    async def scenario(kv):
        revisions = await fill(kv, KEYS)
        assert await kv.count("/registry/pods/") == 4
        await kv.delete("/registry/pods/a/1", revisions["/registry/pods/a/1"])
        assert await kv.count("/registry/pods/") == 3
        assert await kv.count("/registry/pods") == 4
        assert await kv.count("/registry/none/") == 0

    run(scenario)


def test_a_large_range_is_of_one_moment_while_others_write(run):
    async def scenario(kv):
        keys = [f"/registry/a/{i:05}" for i in range(3000)]
        for i in range(0, len(keys), 500):
            await asyncio.gather(*(kv.create(key, b"old") for key in keys[i : i + 500]))

        async def overwrite():
            for key in keys[::-50]:
                revision = (await kv.get(key))[0].revision
                await kv.update(key, b"new", revision)
            await kv.compact(await kv.revision())

        page, _ = await asyncio.gather(kv.range("/registry/a/"), overwrite())
        assert keys_of(page) == keys
        assert max(item.revision for item in page.items) <= page.revision
        later = await kv.range("/registry/a/")
        assert sum(item.value == b"new" for item in later.items) == 60

    run(scenario)
