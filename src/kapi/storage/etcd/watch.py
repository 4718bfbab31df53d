"""A watch: one stream of its own, opened again from where it was whenever it breaks.

The law is `Sink`'s: every event exactly once and in order. `delivered` is the revision up to which the sink has
everything; a new stream starts right after it, and half a revision (fragments) is thrown away with its stream.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

import grpc
from grpc import aio

from kapi.api.objects import Revision
from kapi.storage.etcd import rpc_pb2 as pb
from kapi.storage.etcd.client import Client
from kapi.storage.etcd.errors import translate
from kapi.storage.etcd.keys import key_range
from kapi.storage.kv import NO_REVISION, Compacted, Event, Sink, StorageError, Unavailable
from kapi.telemetry.log import log

FIRST_DELAY = 0.02
MAX_DELAY = 1.0
ASK_AGAIN = 0.1  # etcd drops a progress request while the watch is not in step; upstream's period

Spawn = Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]


class EtcdWatch:
    def __init__(self, client: Client, prefix: str, after: Revision, sink: Sink, spawn: Spawn) -> None:
        self._client = client
        self._prefix = prefix
        self.delivered = after
        self._sink = sink
        self._spawn = spawn
        self._partial: list[pb.Event] = []
        self._delay = FIRST_DELAY
        self._stream: Any = None
        self._ended = False
        self._asked = False
        self._answered = asyncio.Event()
        self._asking: asyncio.Task[None] | None = None
        self._running = spawn(self._run())

    def on_end(self, forget: Callable[[EtcdWatch], object]) -> None:
        self._running.add_done_callback(lambda _: forget(self))

    def close(self) -> None:
        self._ended = True
        self._running.cancel()
        if self._asking is not None:
            self._asking.cancel()

    def end(self, error: StorageError) -> None:
        if not self._ended:
            self.close()
            self._sink.failed(error.with_traceback(None))

    def request_progress(self) -> None:
        """Does nothing where etcd's answer cannot be trusted: `EtcdKV.supports_progress` says so."""
        if self._ended or not self._client.trusts_progress:
            return
        self._asked = True
        if self._asking is None:
            self._asking = self._spawn(self._ask())

    async def _run(self) -> None:
        while not self._ended:
            try:
                await self._follow()
            except StorageError as error:
                if not isinstance(error, Unavailable) or self._client.closed:
                    return self.end(error)
                log.debug(2, "etcd_watch_broken", prefix=self._prefix, after=self.delivered, error=str(error))
                await asyncio.sleep(self._delay)
                self._delay = min(2 * self._delay, MAX_DELAY)

    async def _follow(self) -> None:
        """Read one stream until it ends: always by an error."""
        endpoint = await self._client.connected()
        self._partial.clear()
        stream = endpoint.open_watch()
        try:
            await stream.write(pb.WatchRequest(create_request=self._create_request()))
            self._stream = stream
            while (response := await stream.read()) is not aio.EOF:
                self._receive(response)
                if self._ended:
                    return
            raise Unavailable("etcd: the watch stream ended")
        except aio.AioRpcError as error:
            self._client.leave(endpoint)
            raise translate(error.code(), error.details() or "") from None
        except asyncio.InvalidStateError:  # gRPC's word for a write on a stream that has just broken
            self._client.leave(endpoint)
            raise Unavailable("etcd: the watch stream broke") from None
        finally:
            self._stream = None
            stream.cancel()
            del stream  # a traceback may outlive the engine, and would keep the connection open with it

    def _create_request(self) -> pb.WatchCreateRequest:
        key, end = key_range(self._prefix)
        return pb.WatchCreateRequest(
            key=key,
            range_end=end,
            start_revision=self.delivered + 1,
            progress_notify=True,
            prev_kv=True,
            fragment=True,
        )

    def _receive(self, response: pb.WatchResponse) -> None:
        if response.canceled:
            raise _cancellation(response)
        if response.created:
            self._delay = FIRST_DELAY
        elif response.fragment:
            self._partial.extend(response.events)
        elif response.events:
            events: Sequence[pb.Event] = response.events
            if self._partial:
                events = [*self._partial, *events]
                self._partial.clear()
            self._deliver(events)
        elif response.header.revision >= self.delivered:  # a member that lags behind says nothing new
            self.delivered = Revision(response.header.revision)
            self._answered.set()
            self._sink.progress(self.delivered)

    def _deliver(self, raw: Sequence[pb.Event]) -> None:
        delivered = self.delivered
        events = [_event(event) for event in raw if event.kv.mod_revision > delivered]
        if events:
            self.delivered = events[-1].revision
            self._sink.events(events)

    async def _ask(self) -> None:
        try:
            while self._asked:
                self._asked = False
                self._answered.clear()
                while not self._answered.is_set():
                    await self._send_progress_request()
                    try:
                        async with asyncio.timeout(ASK_AGAIN):
                            await self._answered.wait()
                    except TimeoutError:
                        continue
        finally:
            self._asking = None

    async def _send_progress_request(self) -> None:
        stream = self._stream
        if stream is None:
            return
        try:
            await stream.write(pb.WatchRequest(progress_request=pb.WatchProgressRequest()))
        except (aio.AioRpcError, asyncio.InvalidStateError):
            return  # the reader sees the same, and opens another stream


def _cancellation(response: pb.WatchResponse) -> StorageError:
    if response.compact_revision:
        return Compacted(Revision(response.compact_revision))
    return translate(grpc.StatusCode.UNKNOWN, response.cancel_reason or "the watch was cancelled")


def _event(event: pb.Event) -> Event:
    kv = event.kv
    revision = Revision(kv.mod_revision)
    deleted = event.type == pb.Event.DELETE
    if not deleted and kv.create_revision == revision:
        return Event(kv.key.decode(), revision, kv.value, None, revision)
    if not event.HasField("prev_kv"):
        # Kept by etcd as the newest of its key, but what it replaced is compacted: as history, it is gone.
        raise Compacted(revision)
    previous = event.prev_kv
    return Event(
        kv.key.decode(),
        revision,
        None if deleted else kv.value,
        previous.value,
        Revision(previous.create_revision),
        Revision(previous.mod_revision),
    )


async def compacted_revision(client: Client) -> Revision:
    """What etcd has compacted up to, knowing that it has: only a cancelled watch says it."""
    endpoint = await client.connected()
    stream = endpoint.open_watch()
    try:
        await stream.write(pb.WatchRequest(create_request=pb.WatchCreateRequest(key=b"\0", start_revision=1)))
        while (response := await stream.read()) is not aio.EOF:
            if response.compact_revision:
                return Revision(response.compact_revision)
    except aio.AioRpcError as error:
        raise translate(error.code(), error.details() or "") from None
    except asyncio.InvalidStateError:
        pass
    finally:
        stream.cancel()
        del stream
    return NO_REVISION
