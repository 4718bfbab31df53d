"""EtcdKV: the key-value protocol on an etcd cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from kapi.api.clock import Clock, SystemClock
from kapi.api.objects import Revision
from kapi.storage.etcd import rpc_pb2 as pb
from kapi.storage.etcd.client import Client
from kapi.storage.etcd.config import EtcdConfig
from kapi.storage.etcd.keys import TO_THE_END, entry, key_range
from kapi.storage.etcd.leases import Leases
from kapi.storage.etcd.watch import EtcdWatch, compacted_revision
from kapi.storage.kv import (
    NO_REVISION,
    Compacted,
    Conflict,
    FutureRevision,
    KeyExists,
    KeyValue,
    LeaseNotFound,
    NotFound,
    Page,
    Sink,
    Stats,
    Unavailable,
)
from kapi.telemetry.log import log

HEALTH_KEY = b"health"
RETRY_INTERVAL = 1.0


class EtcdKV:
    in_step = False

    def __init__(self, config: EtcdConfig, clock: Clock | None = None) -> None:
        self.client = Client(config)
        self._config = config
        self._leases = Leases(
            self.client,
            clock or SystemClock(),
            reuse_seconds=config.lease_reuse_duration_seconds,
            max_objects=config.lease_max_object_count,
        )
        self._tasks: set[asyncio.Task[None]] = set()
        self._watches: set[EtcdWatch] = set()
        self._compacted = NO_REVISION

    @property
    def current(self) -> Revision:
        """What every open watch has received; 0 without one."""
        return min((watch.delivered for watch in self._watches), default=NO_REVISION)

    @property
    def supports_progress(self) -> bool:
        """Whether `Watch.request_progress` is answered; if not, a consistent read has to go to etcd."""
        return self.client.trusts_progress

    async def start(self) -> None:
        """One try; `wait_ready` before it is for an etcd that may still be starting."""
        await self.client.survey()

    async def wait_ready(self, deadline: float = 60.0, progress: Callable[[int, str], None] | None = None) -> None:
        """Try every second until an endpoint answers; `progress(attempt, why)` is told of each failure."""
        await self.client.wait_ready(deadline, RETRY_INTERVAL, progress or _log_waiting)

    async def healthy(self, timeout: float) -> None:
        """A linearizable read, as upstream's health check; raises Unavailable."""
        try:
            async with asyncio.timeout(timeout):
                await self.client.range(pb.RangeRequest(key=HEALTH_KEY, count_only=True))
        except TimeoutError:
            raise Unavailable(f"etcd: no answer within {timeout:g} s") from None

    async def close(self) -> None:
        for watch in list(self._watches):
            watch.end(Unavailable("etcd: the engine was closed"))
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await self.client.close()

    async def create(self, key: str, value: bytes, *, lease: int = 0) -> Revision:
        put = pb.PutRequest(key=key.encode(), value=value, lease=lease)
        answer = await self._txn(key, NO_REVISION, pb.RequestOp(request_put=put), lease)
        if not answer.succeeded:
            raise KeyExists(key)
        return Revision(answer.header.revision)

    async def update(self, key: str, value: bytes, expected: Revision, *, lease: int = 0) -> Revision:
        put = pb.PutRequest(key=key.encode(), value=value, lease=lease)
        if expected <= 0:
            raise await self._mismatch(key)
        answer = await self._txn(key, expected, pb.RequestOp(request_put=put), lease)
        if not answer.succeeded:
            raise _conflict(key, answer)
        return Revision(answer.header.revision)

    async def delete(self, key: str, expected: Revision) -> tuple[Revision, KeyValue]:
        remove = pb.DeleteRangeRequest(key=key.encode(), prev_kv=True)
        if expected <= 0:
            raise await self._mismatch(key)
        answer = await self._txn(key, expected, pb.RequestOp(request_delete_range=remove))
        if not answer.succeeded:
            raise _conflict(key, answer)
        return Revision(answer.header.revision), entry(answer.responses[0].response_delete_range.prev_kvs[0])

    async def get(self, key: str, revision: Revision = NO_REVISION) -> tuple[KeyValue | None, Revision]:
        answer = await self._range(pb.RangeRequest(key=key.encode(), revision=revision))
        return entry(answer.kvs[0]) if answer.kvs else None, Revision(answer.header.revision)

    async def range(self, prefix: str, *, start: str = "", limit: int = 0, revision: Revision = NO_REVISION) -> Page:
        key, end = key_range(prefix, start)
        if end != TO_THE_END and key >= end:
            return Page([], revision or await self.revision(), False, 0)
        request = pb.RangeRequest(key=key, range_end=end, limit=limit, revision=revision)
        answer = await self._range(request, self._config.range_timeout)
        at = revision or Revision(answer.header.revision)
        return Page([entry(kv) for kv in answer.kvs], at, answer.more, answer.count)

    async def count(self, prefix: str) -> int:
        key, end = key_range(prefix)
        answer = await self._range(pb.RangeRequest(key=key, range_end=end, count_only=True))
        return int(answer.count)

    async def revision(self) -> Revision:
        answer = await self.client.range(pb.RangeRequest(key=HEALTH_KEY, count_only=True, limit=1))
        return Revision(answer.header.revision)

    def watch(self, prefix: str, after: Revision, sink: Sink) -> EtcdWatch:
        watch = EtcdWatch(self.client, prefix, after, sink, self._spawn)
        self._watches.add(watch)
        watch.on_end(self._watches.discard)
        return watch

    async def grant(self, ttl: int) -> int:
        """A lease shared with other grants of about the same end: it may last up to 5 % (a minute) longer."""
        return await self._leases.grant(ttl)

    async def compact(self, revision: Revision) -> None:
        try:
            await self.client.compact(revision)
        except Compacted:
            return  # that much is forgotten already, perhaps by another server
        except FutureRevision:
            raise FutureRevision(await self.revision()) from None

    async def stats(self) -> Stats:
        status = await self.client.status()
        return Stats(
            revision=await self.revision(),
            compacted=await self._find_compacted(),
            size_bytes=status.dbSize,
            in_use_bytes=status.dbSizeInUse,
            version=f"etcd {status.version}",
        )

    async def _txn(self, key: str, expected: Revision, write: pb.RequestOp, lease: int = 0) -> pb.TxnResponse:
        encoded = key.encode()
        request = pb.TxnRequest(
            compare=[pb.Compare(target=pb.Compare.MOD, key=encoded, mod_revision=expected)], success=[write]
        )
        if expected:
            request.failure.append(pb.RequestOp(request_range=pb.RangeRequest(key=encoded)))
        try:
            return await self.client.txn(request)
        except LeaseNotFound:
            self._leases.forget(lease)
            raise LeaseNotFound(lease) from None

    async def _mismatch(self, key: str) -> Conflict | NotFound:
        """No key is at revision 0: etcd would take that comparison for a create."""
        current, _ = await self.get(key)
        return Conflict(key, current) if current else NotFound(key)

    async def _range(self, request: pb.RangeRequest, timeout: float = 0) -> pb.RangeResponse:
        try:
            return await self.client.range(request, timeout)
        except Compacted:
            raise Compacted(await self._find_compacted()) from None
        except FutureRevision:
            raise FutureRevision(await self.revision()) from None

    async def _find_compacted(self) -> Revision:
        """A read at the last known one tells whether it is still the one."""
        probe = pb.RangeRequest(key=HEALTH_KEY, count_only=True, revision=self._compacted or 1)
        try:
            await self.client.range(probe)
        except Compacted:
            self._compacted = await compacted_revision(self.client)
        return self._compacted

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._reap)
        return task

    def _reap(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled():
            task.result()  # a sink that raised: reported by the loop's exception handler


def _conflict(key: str, answer: pb.TxnResponse) -> Conflict | NotFound:
    kvs = answer.responses[0].response_range.kvs
    return Conflict(key, entry(kvs[0])) if kvs else NotFound(key)


def _log_waiting(attempt: int, why: str) -> None:
    log.warning("etcd_waiting", attempt=attempt, error=why)
