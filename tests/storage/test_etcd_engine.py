"""The etcd engine against a real etcd: what the contract suite, shared with other engines, does not ask."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from kapi.storage.etcd import EtcdConfig, EtcdKV
from kapi.storage.etcd.config import target
from kapi.storage.etcd.versions import trusts_progress
from kapi.storage.kv import (
    Compacted,
    Conflict,
    FutureRevision,
    KeyExists,
    LeaseNotFound,
    NotFound,
    StorageError,
    TooLarge,
    Unavailable,
)

pytestmark = pytest.mark.etcd


class SetClock:
    def __init__(self):
        self.time = 1000.0

    def now(self):
        return self.time

    monotonic = now


@asynccontextmanager
async def engine(*endpoints, clock=None, **settings):
    kv = EtcdKV(EtcdConfig(endpoints=endpoints, **settings), clock)
    try:
        await kv.start()
        yield kv
    finally:
        await kv.close()


def test_nothing_else_in_storage_imports_grpc():
    code = "import sys, kapi.storage.kv, kapi.storage; assert 'grpc' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_conflict_carries_what_is_there_now(etcd):
    async def check():
        async with engine(etcd.url) as kv:
            first = await kv.create("/conflict/a", b"1")
            second = await kv.update("/conflict/a", b"2", first)
            for write in (kv.update("/conflict/a", b"3", first), kv.delete("/conflict/a", first)):
                with pytest.raises(Conflict) as caught:
                    await write
                assert (caught.value.current.value, caught.value.current.revision) == (b"2", second)
            with pytest.raises(KeyExists):
                await kv.create("/conflict/a", b"4")

    asyncio.run(check())


def test_revision_zero_never_creates_through_an_update(etcd):
    async def check():
        async with engine(etcd.url) as kv:
            with pytest.raises(NotFound):
                await kv.update("/zero/a", b"1", 0)
            with pytest.raises(NotFound):
                await kv.delete("/zero/a", 0)
            await kv.create("/zero/a", b"1")
            with pytest.raises(Conflict):
                await kv.update("/zero/a", b"2", 0)

    asyncio.run(check())


def test_errors_name_the_revisions_that_etcd_does_not_say(new_etcd):
    async def check():
        async with engine(new_etcd().start().url) as kv:
            assert (await kv.stats()).compacted == 0
            first = await kv.create("/a", b"1")
            second = await kv.update("/a", b"2", first)
            third = await kv.update("/a", b"3", second)
            await kv.compact(second)
            with pytest.raises(Compacted) as old:
                await kv.get("/a", first)
            assert old.value.compacted == second
            for call in (kv.range("/", revision=third + 5), kv.compact(third + 5)):
                with pytest.raises(FutureRevision) as future:
                    await call
                assert future.value.current == third
            await kv.compact(first)  # already forgotten
            await kv.compact(third)
            assert (await kv.stats()).compacted == third

    asyncio.run(check())


@pytest.mark.parametrize("size", [1_700_000, 4_000_000], ids=["etcd's limit", "gRPC's limit"])
def test_a_value_that_is_too_large_says_so_in_both_shapes(etcd, size):
    async def check():
        async with engine(etcd.url) as kv:
            with pytest.raises(TooLarge):
                await kv.create("/large", b"x" * size)
            assert await kv.get("/large") == (None, await kv.revision())

    asyncio.run(check())


def test_a_range_beyond_grpcs_default_limit_is_read_whole(etcd):
    async def check():
        async with engine(etcd.url) as kv:
            await asyncio.gather(*(kv.create(f"/big/{i:02}", bytes([i]) * 400_000) for i in range(16)))
            page = await kv.range("/big/")
            assert [len(item.value) for item in page.items] == [400_000] * 16
            assert not page.more and page.count == 16

    asyncio.run(check())


def test_statistics_say_how_large_the_database_is(etcd):
    async def check():
        async with engine(etcd.url) as kv:
            stats = await kv.stats()
            assert stats.size_bytes >= stats.in_use_bytes > 0
            assert stats.version.startswith("etcd 3.")
            assert stats.revision == await kv.revision()

    asyncio.run(check())


def test_keys_of_an_expired_lease_go_with_delete_events(etcd, new_recorder):
    async def check():
        async with engine(etcd.url) as kv:
            lease = await kv.grant(1)
            sink = new_recorder()
            kv.watch("/lease/", await kv.revision(), sink)
            await kv.create("/lease/a", b"1", lease=lease)
            await kv.create("/lease/b", b"2", lease=lease)
            await kv.create("/lease/c", b"stays")
            await sink.until(lambda s: len(s.seen) == 5)
            assert {(e.key, e.value, e.previous) for e in sink.seen[3:]} == {
                ("/lease/a", None, b"1"),
                ("/lease/b", None, b"2"),
            }
            assert await kv.count("/lease/") == 1

    asyncio.run(check())


def test_a_lease_is_shared_within_the_reuse_window(etcd):
    async def check():
        clock = SetClock()
        async with engine(etcd.url, clock=clock, lease_reuse_duration_seconds=60, lease_max_object_count=3) as kv:
            first = await kv.grant(1000)  # the window is 5 %: 50 s
            clock.time += 49
            assert await kv.grant(1000) == first
            clock.time += 1
            second = await kv.grant(1000)
            assert second != first
            assert await kv.grant(500) != second  # it would live on too long
            leases = await asyncio.gather(*(kv.grant(2000) for _ in range(4)))
            assert len(set(leases)) == 2 and leases[0] == leases[2]  # three objects at most

    asyncio.run(check())


def test_a_revoked_lease_fails_the_write_and_is_not_used_again(etcd):
    async def check():
        async with engine(etcd.url) as kv:
            lease = await kv.grant(3600)
            etcd.ctl("lease", "revoke", f"{lease:x}")
            with pytest.raises(LeaseNotFound):
                await kv.create("/revoked", b"1", lease=lease)
            fresh = await kv.grant(3600)
            assert fresh != lease
            await kv.create("/revoked", b"1", lease=fresh)

    asyncio.run(check())


def test_closing_answers_calls_under_way_and_leaves_no_task(etcd, new_recorder):
    async def check():
        async with engine(etcd.url) as kv:
            sinks = [new_recorder() for _ in range(5)]
            for sink in sinks:
                kv.watch("/close/", await kv.revision(), sink)
            await kv.create("/close/a", b"1")
            for sink in sinks:
                await sink.until(lambda s: s.seen)
            reads = [asyncio.create_task(kv.get("/close/a")) for _ in range(50)]
            await asyncio.sleep(0)
            await kv.close()
            for answer in await asyncio.gather(*reads, return_exceptions=True):
                assert isinstance(answer, (StorageError, tuple))
            with pytest.raises(StorageError, match="not open"):
                await kv.get("/close/a")
        assert asyncio.all_tasks() == {asyncio.current_task()}
        assert all(isinstance(sink.error, Unavailable) for sink in sinks)
        late = new_recorder()
        kv.watch("/close/", 0, late)
        await late.until(lambda s: s.error)

    asyncio.run(check())


def test_cancelling_a_caller_stays_a_cancellation(etcd):
    async def check():
        async with engine(etcd.url) as kv:
            write = asyncio.create_task(kv.create("/cancelled", b"1"))
            await asyncio.sleep(0)
            write.cancel()
            with pytest.raises(asyncio.CancelledError):
                await write

    asyncio.run(check())


@pytest.mark.parametrize(
    ("endpoint", "tls", "expected"),
    [
        ("http://10.0.0.1:2379", False, ("10.0.0.1:2379", False)),
        ("https://etcd.example", False, ("etcd.example:2379", True)),
        ("https://[::1]:4001/", False, ("[::1]:4001", True)),
        ("etcd:2379", True, ("etcd:2379", True)),
        ("unix:///run/etcd.sock", True, ("unix:/run/etcd.sock", False)),
    ],
)
def test_endpoints_are_written_as_urls(endpoint, tls, expected):
    assert target(endpoint, tls=tls) == expected


@pytest.mark.parametrize("endpoint", ["ftp://a:1", "http://", "http://a:port", "http://a/path", ""])
def test_other_endpoints_are_refused_with_advice(endpoint):
    with pytest.raises(StorageError, match="--etcd-servers"):
        target(endpoint, tls=False)


def test_a_missing_certificate_file_is_named():
    async def check():
        config = EtcdConfig(endpoints=("https://127.0.0.1:1",), ca_file="/nowhere/ca.crt")
        with pytest.raises(StorageError, match=r"cannot read /nowhere/ca\.crt: No such file"):
            await EtcdKV(config).start()
        with pytest.raises(StorageError, match="--etcd-servers"):
            EtcdKV(replace(config, endpoints=()))

    asyncio.run(check())


@pytest.mark.parametrize(
    ("version", "trusted"),
    [("3.4.30", False), ("3.4.31", True), ("3.5.0", False), ("3.5.12", False), ("3.5.13", True), ("3.6.0-rc.1", True),
     ("4.0.0", True), ("odd", False)],
)  # fmt: skip
def test_progress_is_trusted_by_version(version, trusted):
    assert trusts_progress(version) is trusted
