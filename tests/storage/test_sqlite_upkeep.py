"""Healthy for months: compaction in small steps, a bounded WAL, space given back, leases over restarts."""

import asyncio
import os
import sqlite3

from kapi.storage.kv import KeyValue
from kapi.storage.sqlite import SQLiteKV, check


class FixedClock:
    def __init__(self, now: float) -> None:
        self.time = now

    def now(self) -> float:
        return self.time

    def monotonic(self) -> float:
        return self.time


async def purged(kv: SQLiteKV) -> None:
    async with asyncio.timeout(60):
        while kv.metrics()["compaction_lag_revisions"]:
            await asyncio.sleep(0)
        await asyncio.wait([kv._purge.task])


async def churn(kv: SQLiteKV, rounds: int, keys: int = 200, size: int = 2000) -> None:
    held = {}
    for _ in range(rounds):
        for i in range(keys):
            key = f"/registry/a/{i:04}"
            if key not in held:
                found, _ = await kv.get(key)
                held[key] = found.revision if found else await kv.create(key, b"")
        revisions = await asyncio.gather(*(kv.update(key, os.urandom(size), held[key]) for key in held))
        held = dict(zip(held, revisions, strict=True))


def test_compaction_gives_space_back_and_the_wal_stays_bounded(tmp_path):
    path = tmp_path / "kv.db"

    async def scenario():
        kv = SQLiteKV(path)
        await kv.start()
        largest_wal = 0
        for _ in range(4):
            await churn(kv, 25)
            largest_wal = max(largest_wal, kv.metrics()["wal_bytes"])
        grown = (await kv.stats()).in_use_bytes
        assert grown > 35 << 20
        await kv.compact(await kv.revision())
        await purged(kv)
        stats = await kv.stats()
        assert stats.in_use_bytes < 2 << 20
        assert kv.metrics()["file_bytes"] < grown / 2
        assert kv.metrics()["free_bytes"] <= 17 << 20
        assert max(largest_wal, kv.metrics()["wal_bytes"]) < 40 << 20
        assert await kv.count("/registry/a/") == 200
        await kv.close()
        assert os.path.getsize(path) < grown / 2
        assert check(path) == []

    asyncio.run(scenario())


def test_what_lay_idle_from_one_compaction_to_the_next_is_given_back(tmp_path):
    async def scenario():
        kv = SQLiteKV(tmp_path / "kv.db")
        await kv.start()
        await churn(kv, 60)
        await kv.compact(await kv.revision())
        await purged(kv)
        spare = kv.metrics()["free_bytes"]
        assert spare > 8 << 20, "kept for the writes to come"
        for _ in range(2):
            await kv.compact(await kv.create(f"/registry/b/{await kv.revision()}", b""))
            await purged(kv)
        assert kv.metrics()["free_bytes"] < spare * 0.9 or spare <= 16 << 20
        await kv.close()

    asyncio.run(scenario())


def test_writers_go_on_while_compaction_runs(tmp_path):
    async def scenario():
        kv = SQLiteKV(tmp_path / "kv.db")
        await kv.start()
        await churn(kv, 40)
        await kv.compact(await kv.revision())
        written = 0
        while kv.metrics()["compaction_lag_revisions"]:
            await kv.create(f"/registry/b/{written}", b"")
            written += 1
        assert written > 3
        await kv.close()
        assert check(tmp_path / "kv.db") == []

    asyncio.run(scenario())


def test_a_compaction_that_was_cut_short_is_finished_by_the_next_start(tmp_path):
    path = tmp_path / "kv.db"

    async def first():
        kv = SQLiteKV(path)
        await kv.start()
        await churn(kv, 40)
        await kv.compact(await kv.revision())
        assert kv.metrics()["compaction_lag_revisions"] > 0
        await kv.close()

    async def second():
        kv = SQLiteKV(path)
        await kv.start()
        await purged(kv)
        assert (await kv.stats()).in_use_bytes < 2 << 20
        await kv.close()

    asyncio.run(first())
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM log").fetchone()[0] > 1000
    connection.close()
    asyncio.run(second())
    connection = sqlite3.connect(path)
    assert connection.execute("SELECT count(*) FROM log").fetchone() == (200,)
    connection.close()


def test_history_is_still_readable_after_a_restart_until_compacted(tmp_path):
    async def first():
        kv = SQLiteKV(tmp_path / "kv.db")
        await kv.start()
        created = await kv.create("/registry/a/x", b"one")
        updated = await kv.update("/registry/a/x", b"two", created)
        await kv.delete("/registry/a/x", updated)
        await kv.close()
        return created, updated

    async def second(created, updated):
        kv = SQLiteKV(tmp_path / "kv.db")
        await kv.start()
        assert (await kv.get("/registry/a/x"))[0] is None
        assert (await kv.get("/registry/a/x", updated))[0] == KeyValue("/registry/a/x", b"two", updated, created, 2)
        assert [i.value for i in (await kv.range("/registry/", revision=created)).items] == [b"one"]
        await kv.close()

    asyncio.run(second(*asyncio.run(first())))


def test_leases_that_ended_while_the_server_was_down_take_their_keys_at_start(tmp_path):
    async def first():
        kv = SQLiteKV(tmp_path / "kv.db", clock=FixedClock(1000.0))
        await kv.start()
        short, long = await kv.grant(60), await kv.grant(6000)
        for i in range(10):
            await kv.create(f"/registry/a/short-{i}", b"", lease=short)
        await kv.create("/registry/a/long", b"", lease=long)
        moved = await kv.create("/registry/a/moved", b"", lease=short)
        await kv.update("/registry/a/moved", b"", moved)
        await kv.close()

    async def second():
        kv = SQLiteKV(tmp_path / "kv.db", clock=FixedClock(2000.0))
        await kv.start()
        async with asyncio.timeout(20):
            while kv.metrics()["leases"] > 1:
                await asyncio.sleep(0)
        assert [item.key for item in (await kv.range("/registry/a/")).items] == [
            "/registry/a/long",
            "/registry/a/moved",
        ]
        await kv.close()

    asyncio.run(first())
    asyncio.run(second())
    assert check(tmp_path / "kv.db") == []
    connection = sqlite3.connect(tmp_path / "kv.db")
    assert connection.execute("SELECT count(*) FROM lease").fetchone() == (1,)
    connection.close()


def test_a_replay_of_much_history_never_holds_the_loop_for_long(tmp_path):
    async def scenario():
        kv = SQLiteKV(tmp_path / "kv.db")
        await kv.start()
        await churn(kv, 40)
        done = asyncio.Event()
        seen = []

        class Sink:
            def events(self, events):
                seen.extend(event.revision for event in events)

            def progress(self, revision):
                done.set()

            def failed(self, error):
                assert done.is_set(), error

        turns = 0
        kv.watch("/registry/a/", 1, Sink()).request_progress()
        while not done.is_set():
            await asyncio.sleep(0)
            turns += 1
        assert len(seen) == 200 * 41
        assert seen == sorted(set(seen))
        assert turns > 5
        await kv.close()

    asyncio.run(scenario())
