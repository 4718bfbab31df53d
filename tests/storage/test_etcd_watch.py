"""Watches on a real etcd: resumed, whole and ended rightly."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from kapi.storage.etcd import EtcdConfig, EtcdKV
from kapi.storage.etcd import rpc_pb2 as pb
from kapi.storage.kv import Compacted

pytestmark = pytest.mark.etcd


@asynccontextmanager
async def engine(*endpoints):
    kv = EtcdKV(EtcdConfig(endpoints=endpoints))
    try:
        await kv.start()
        yield kv
    finally:
        await kv.close()


def test_events_tell_what_was_there_before(etcd, new_recorder):
    async def check():
        async with engine(etcd.url) as kv:
            sink = new_recorder()
            kv.watch("/told/", await kv.revision(), sink)
            created = await kv.create("/told/a", b"1")
            await kv.create("/untold", b"1")
            updated = await kv.update("/told/a", b"2", created)
            deleted, _ = await kv.delete("/told/a", updated)
            await sink.until(lambda s: len(s.seen) == 3)
            facts = [(e.revision, e.value, e.previous, e.created, e.previous_revision) for e in sink.seen]
            assert facts == [
                (created, b"1", None, created, 0),
                (updated, b"2", b"1", created, created),
                (deleted, None, b"2", created, updated),
            ]

    asyncio.run(check())


def test_fragments_of_one_revision_arrive_in_one_call(etcd, new_recorder):
    """With the values that they replace, the events of this transaction are larger than one message may be."""

    async def check():
        async with engine(etcd.url) as kv:
            after = await kv.revision()
            for fill in (b"1", b"2"):
                puts = [pb.PutRequest(key=b"/fragment/%02d" % i, value=fill * 100_000) for i in range(14)]
                await kv.client.txn(pb.TxnRequest(success=[pb.RequestOp(request_put=put) for put in puts]))
            sink = new_recorder()
            kv.watch("/fragment/", after, sink)
            await sink.until(lambda s: len(s.seen) >= 28)
            revisions = [{event.revision for event in call} for call in sink.calls]
            assert sum(map(len, revisions)) == len(set.union(*revisions)) == 2
            assert [event.key for event in sink.seen] == [f"/fragment/{i:02}" for i in range(14)] * 2

    asyncio.run(check())


def test_a_watch_from_a_compacted_revision_fails(new_etcd, new_recorder):
    async def check():
        async with engine(new_etcd().start().url) as kv:
            revision = await kv.create("/a", b"1")
            for _ in range(5):
                revision = await kv.update("/a", b"2", revision)
            await kv.compact(revision)
            sink = new_recorder()
            kv.watch("/", 1, sink)
            await sink.until(lambda s: s.error)
            assert isinstance(sink.error, Compacted)
            assert sink.error.compacted == revision

    asyncio.run(check())


def test_an_update_whose_previous_value_is_compacted_is_history_lost(new_etcd, new_recorder):
    async def check():
        async with engine(new_etcd().start().url) as kv:
            first = await kv.create("/a", b"1")
            second = await kv.update("/a", b"2", first)
            await kv.compact(second)
            sink = new_recorder()
            kv.watch("/", first, sink)
            await sink.until(lambda s: s.error)
            assert isinstance(sink.error, Compacted) and sink.seen == []

    asyncio.run(check())


def test_compaction_does_not_disturb_a_watch_that_is_in_step(new_etcd, new_recorder):
    async def check():
        async with engine(new_etcd().start().url) as kv:
            sink = new_recorder()
            kv.watch("/", 0, sink)
            revision = await kv.create("/a", b"1")
            for count in range(2, 20):
                revision = await kv.update("/a", b"2", revision)
                await sink.until(lambda s, wanted=count: s.error or len(s.seen) == wanted)
                await kv.compact(revision)
            assert sink.error is None and len(sink.seen) == 19

    asyncio.run(check())


def test_progress_notifications_are_passed_on(new_etcd, new_recorder):
    async def check():
        etcd = new_etcd("--experimental-watch-progress-notify-interval=100ms").start()
        async with engine(etcd.url) as kv:
            sink = new_recorder()
            kv.watch("/quiet/", 0, sink)
            revision = await kv.create("/elsewhere", b"1")
            await sink.until(lambda s: s.progressed and s.progressed[-1] >= revision)
            assert sink.seen == []

    asyncio.run(check())


def test_a_progress_request_is_answered_with_the_current_revision(etcd, new_recorder, monkeypatch):
    """Every etcd answers; the old ones are just not trusted to keep the order under load."""
    monkeypatch.setattr("kapi.storage.etcd.client.trusts_progress", lambda version: True)

    async def check():
        async with engine(etcd.url) as kv:
            assert kv.supports_progress
            sink = new_recorder()
            watch = kv.watch("/asked/", await kv.revision(), sink)
            for _ in range(3):
                revision = await kv.create(f"/elsewhere/{await kv.revision()}", b"1")
                watch.request_progress()
                await sink.until(lambda s, wanted=revision: s.progressed and s.progressed[-1] >= wanted)
            assert sink.progressed == sorted(sink.progressed)

    asyncio.run(check())


def test_progress_requests_are_not_sent_where_they_cannot_be_trusted(etcd, new_recorder, monkeypatch):
    monkeypatch.setattr("kapi.storage.etcd.client.trusts_progress", lambda version: False)

    async def check():
        async with engine(etcd.url) as kv:
            assert not kv.supports_progress
            sink = new_recorder()
            watch = kv.watch("/unasked/", await kv.revision(), sink)
            await kv.create("/unasked/a", b"1")
            await sink.until(lambda s: s.seen)
            watch.request_progress()
            await kv.create("/unasked/b", b"1")
            await sink.until(lambda s: len(s.seen) == 2)
            assert sink.progressed == []

    asyncio.run(check())


def test_a_closed_watch_is_silent_even_when_closed_from_within(etcd, new_recorder):
    async def check():
        async with engine(etcd.url) as kv:
            after = await kv.revision()
            closing, other = new_recorder(), new_recorder()
            watch = kv.watch("/closed/", after, closing)
            remember = closing.events
            closing.events = lambda events: (watch.close(), remember(events))
            kv.watch("/closed/", after, other)
            await kv.create("/closed/0", b"1")
            await closing.until(lambda s: s.seen)
            watch.request_progress()
            for i in range(1, 5):
                await kv.create(f"/closed/{i}", b"1")
            await other.until(lambda s: len(s.seen) == 5)
            assert len(closing.seen) == 1 and closing.error is None

    asyncio.run(check())
