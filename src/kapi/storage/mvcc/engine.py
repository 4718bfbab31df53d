"""An embedded engine: every decision is taken here, on the loop; the log only keeps what was decided.

A write compares with the index, gets the next revision and joins the queue. One batch is with the log at a time; what
comes meanwhile is the next one (group commit). When the log is done, one callback moves the index on, calls sinks and
then lets the writers go on: in step. No write is compared with an uncommitted one: it waits for that one's commit.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from kapi.api.clock import Clock, SystemClock
from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.mvcc.index import KeyIndex
from kapi.storage.mvcc.leases import Leases
from kapi.storage.mvcc.log import Log, Record
from kapi.storage.mvcc.purge import Purge
from kapi.storage.mvcc.watchers import Watchers
from kapi.telemetry.log import log as journal

MAX_BATCH = 512
# As etcd's default, so that what is stored here can be moved there.
MAX_VALUE_BYTES = 3 << 19
_READ_AT_ONCE = 200
_SLICE_SECONDS = 0.004
_EXPIRE_AT_ONCE = 256


@dataclass(slots=True)
class _Write:
    record: Record
    before: Record | None
    done: asyncio.Future[Revision]


class Embedded:
    """The `kv.KV` methods over a log. Subclasses open and close the log."""

    in_step = True
    supports_progress = True

    def __init__(self, log: Log, clock: Clock | None = None) -> None:
        self._log = log
        self._index = KeyIndex()
        self._watchers = Watchers(self._index, self._events)
        self._leases = Leases(clock or SystemClock(), self._expire_soon)
        self._purge = Purge(self._index, log)
        self._queue: list[_Write] = []
        self._batch: list[_Write] = []  # with the log
        self._uncommitted: set[str] = set()
        self._assigned = 0  # the newest revision that a write was given, committed or not
        self._scheduled = False
        self._commit: asyncio.Future[None] | None = None
        self._expiring: asyncio.Task[None] | None = None
        self._closed: kv.StorageError | None = kv.Unavailable("the store is not open")
        self._commits = 0
        self._loop: asyncio.AbstractEventLoop

    @property
    def current(self) -> Revision:
        return Revision(self._index.revision)

    async def start(self) -> None:
        self._loop = asyncio.get_running_loop()
        self._assigned = self._index.revision
        self._closed = None
        self._leases.wind()
        self._purge.start()

    async def close(self) -> None:
        """Everything submitted is committed; later calls are refused; watches end."""
        if self._closed is None:
            self._closed = kv.Unavailable("the store is closed")
            self._leases.stop()
            await self._settled()
            for task in (self._expiring, self._purge.task):
                if task is not None:
                    task.cancel()
                    await asyncio.wait([task])
            self._watchers.close(self._closed)

    async def create(self, key: str, value: bytes, *, lease: int = 0) -> Revision:
        await self._admit(key, value, lease)
        if self._index.heads.get(key, 0) > 0:
            raise kv.KeyExists(key)
        revision = self._assigned = self._assigned + 1
        return await self._submit(Record(revision, key, revision, 0, 1, lease, value), None)

    async def update(self, key: str, value: bytes, expected: Revision, *, lease: int = 0) -> Revision:
        await self._admit(key, value, lease)
        before = self._compare(key, expected)
        revision = self._assigned = self._assigned + 1
        record = Record(revision, key, before.created, before.revision, before.version + 1, lease, value)
        return await self._submit(record, before)

    async def delete(self, key: str, expected: Revision) -> tuple[Revision, kv.KeyValue]:
        await self._admit(key, b"", 0)
        before = self._compare(key, expected)
        revision = self._assigned = self._assigned + 1
        done = await self._submit(Record(revision, key, before.created, before.revision, 0, 0, None), before)
        return done, before.key_value()

    async def get(self, key: str, revision: Revision = kv.NO_REVISION) -> tuple[kv.KeyValue | None, Revision]:
        self._check_open()
        found = self._index.at(key, revision)
        return self._log.read(found).key_value() if found else None, Revision(self._index.revision)

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: Revision = kv.NO_REVISION
    ) -> kv.Page:
        self._check_open()
        revisions, count = self._index.range(prefix, start, limit, revision)
        at = revision or Revision(self._index.revision)
        found: dict[int, kv.KeyValue] = {}
        deadline = self._loop.time() + _SLICE_SECONDS
        with self._purge.held_back():
            in_log_order = sorted(revisions)  # each of the log's pages is visited once
            for i in range(0, len(revisions), _READ_AT_ONCE):
                if self._loop.time() > deadline:
                    await asyncio.sleep(0)
                    self._check_open()
                    deadline = self._loop.time() + _SLICE_SECONDS
                records = self._log.read_many(in_log_order[i : i + _READ_AT_ONCE])
                found.update((r, record.key_value()) for r, record in records.items())
        items = [found[r] for r in revisions]
        return kv.Page(items, at, count > len(items), count)

    async def count(self, prefix: str) -> int:
        self._check_open()
        return self._index.count(prefix)

    async def revision(self) -> Revision:
        self._check_open()
        return Revision(self._index.revision)

    def watch(self, prefix: str, after: Revision, sink: kv.Sink) -> kv.Watch:
        self._check_open()
        return self._watchers.add(prefix, after, sink)

    async def grant(self, ttl: int) -> int:
        """One shared with other grants of about the same end: it may last up to 5 % (a minute) longer."""
        self._check_open()
        lease = self._leases.shared(ttl)
        if lease is None:
            lease, expires = self._leases.propose(ttl)
            await self._log.save_lease(lease, expires)
            self._leases.granted(lease, ttl, expires)
        return lease

    async def compact(self, revision: Revision) -> None:
        """Compacting again what already is does nothing new."""
        self._check_open()
        if revision > self._index.revision:
            raise kv.FutureRevision(Revision(self._index.revision))
        if revision > self._index.compacted:
            await self._log.mark_compacted(revision, self._index.revision)
            self._index.compact(revision)
        self._purge.start()

    def _check_open(self) -> None:
        if self._closed is not None:
            raise kv.Unavailable(str(self._closed))

    async def _admit(self, key: str, value: bytes, lease: int) -> None:
        self._check_open()
        # What JSON escapes is not held against an object: upstream stores most without.
        if len(value) > MAX_VALUE_BYTES and len(value) - value.count(b"\\") > MAX_VALUE_BYTES:
            raise kv.TooLarge(f"{key}: {len(value)} bytes, the store takes {MAX_VALUE_BYTES}")
        while key in self._uncommitted:
            await self._committed_next()
            self._check_open()
        if lease and lease not in self._leases:
            raise kv.LeaseNotFound(lease)

    def _compare(self, key: str, expected: int) -> Record:
        head = self._index.heads.get(key, 0)
        if head <= 0:
            raise kv.NotFound(key)
        before = self._log.read(head)
        if head != expected:
            raise kv.Conflict(key, before.key_value())
        return before

    def _submit(self, record: Record, before: Record | None) -> asyncio.Future[Revision]:
        done: asyncio.Future[Revision] = self._loop.create_future()
        self._uncommitted.add(record.key)
        self._queue.append(_Write(record, before, done))
        if not self._scheduled and not self._batch:
            # What other tasks submit in this turn of the loop shares the commit.
            self._scheduled = True
            self._loop.call_soon(self._flush)
        return done

    def _flush(self) -> None:
        self._scheduled = False
        if self._queue and not self._batch:
            self._batch = self._queue[:MAX_BATCH]
            del self._queue[:MAX_BATCH]
            self._log.append([write.record for write in self._batch], self._appended)

    def _appended(self, error: kv.StorageError | None) -> None:
        batch, self._batch = self._batch, []
        if error is not None:
            self._fail(batch, error)
        else:
            self._flush()
            self._apply(batch)
        if self._commit is not None:
            self._commit.set_result(None)
            self._commit = None

    def _apply(self, batch: Sequence[_Write]) -> None:
        self._commits += 1
        for write in batch:
            record, before = write.record, write.before
            self._uncommitted.discard(record.key)
            self._index.put(record.key, record.revision, deleted=record.value is None)
            if before is not None and before.lease:
                self._leases.detach(before.lease, record.key)
            if record.lease:
                self._leases.attach(record.lease, record.key)
        if len(self._watchers):
            self._watchers.publish([w.record.event(w.before.value if w.before else None) for w in batch])
        for write in batch:
            if not write.done.done():
                write.done.set_result(Revision(write.record.revision))

    def _fail(self, batch: list[_Write], error: kv.StorageError) -> None:
        """Nothing of the batch is there. What is queued was numbered after it, and fails alike."""
        failed = batch + self._queue
        self._queue = []
        self._uncommitted.clear()
        self._assigned = self._index.revision
        for write in failed:
            if not write.done.done():
                write.done.set_exception(type(error)(str(error)))

    async def _committed_next(self) -> None:
        if self._commit is None:
            self._commit = self._loop.create_future()
        await asyncio.shield(self._commit)

    async def _settled(self) -> None:
        """Until everything submitted so far has been decided."""
        while self._queue or self._batch:
            await self._committed_next()

    def _events(self, revisions: Sequence[int]) -> list[kv.Event]:
        records = self._log.read_many(revisions)
        before = self._log.read_many([r.previous for r in records.values() if r.previous])
        events = []
        for revision in revisions:
            record = records[revision]
            events.append(record.event(before[record.previous].value if record.previous else None))
        return events

    def _expire_soon(self) -> None:
        if self._expiring is None or self._expiring.done():
            self._expiring = self._loop.create_task(self._expire())

    async def _expire(self) -> None:
        """Delete what came with the leases that have ended, a revision for each key."""
        try:
            while ended := self._leases.end_due():
                await self._settled()
                for lease in ended:
                    keys = self._leases.keys(lease)
                    for i in range(0, len(keys), _EXPIRE_AT_ONCE):
                        await asyncio.gather(*(self._expire_key(lease, key) for key in keys[i : i + _EXPIRE_AT_ONCE]))
                    if not self._leases.keys(lease):
                        await self._log.drop_lease(lease)
                        self._leases.forget(lease)
        except kv.StorageError as error:
            journal.warning("lease_expiry_failed", error=str(error))
        self._leases.wind()

    async def _expire_key(self, lease: int, key: str) -> None:
        try:
            await self.delete(key, Revision(self._index.at(key)))
        except (kv.NotFound, kv.Conflict):
            self._leases.detach(lease, key)  # changed meanwhile: it goes with its new lease, or stays
