"""Calls on a cluster: which endpoint gets a call, and what is tried again.

A read that failed is tried on the other endpoints. A write is sent once: it moves on to another endpoint only while no
connection could be opened, for then etcd has not seen it. After that its outcome is unknown, and the caller is told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from grpc import aio

from kapi.storage.etcd import rpc_pb2 as pb
from kapi.storage.etcd.config import EtcdConfig
from kapi.storage.etcd.endpoint import Endpoint
from kapi.storage.etcd.errors import translate
from kapi.storage.etcd.versions import trusts_progress
from kapi.storage.kv import StorageError, Unavailable

SETTLE_SECONDS = 0.1


class Client:
    """Stays with one endpoint until it fails."""

    def __init__(self, config: EtcdConfig) -> None:
        if not config.endpoints:
            raise StorageError("no etcd endpoint given: pass --etcd-servers")
        self._config = config
        self._endpoints: list[Endpoint] = []
        self._current = 0

    def open(self) -> None:
        if not self._endpoints:
            self._endpoints = [Endpoint(url, self._config) for url in self._config.endpoints]

    async def close(self) -> None:
        endpoints, self._endpoints = self._endpoints, []
        for endpoint in endpoints:
            await endpoint.close()
        # gRPC ends a cancelled stream in a task of its own, which must not outlive the loop. Nothing tells whose it
        # is, so streams of another engine may keep us for the whole of this moment.
        ending = [task for task in asyncio.all_tasks() if "_AioCall" in getattr(task.get_coro(), "__qualname__", "")]
        if ending:
            await asyncio.wait(ending, timeout=SETTLE_SECONDS)

    @property
    def closed(self) -> bool:
        """Also before it is opened."""
        return not self._endpoints

    @property
    def trusts_progress(self) -> bool:
        """Whether every endpoint that was ever reached answers progress requests rightly."""
        versions = [endpoint.version for endpoint in self._endpoints if endpoint.version]
        return bool(versions) and all(map(trusts_progress, versions))

    async def range(self, request: pb.RangeRequest, timeout: float = 0) -> pb.RangeResponse:
        answer: pb.RangeResponse = await self._call("range", request, timeout=timeout, again=True)
        return answer

    async def txn(self, request: pb.TxnRequest) -> pb.TxnResponse:
        answer: pb.TxnResponse = await self._call("txn", request)
        return answer

    async def compact(self, revision: int) -> None:
        await self._call("compact", pb.CompactionRequest(revision=revision))

    async def lease_grant(self, ttl: int) -> pb.LeaseGrantResponse:
        answer: pb.LeaseGrantResponse = await self._call("lease_grant", pb.LeaseGrantRequest(TTL=ttl))
        return answer

    async def status(self) -> pb.StatusResponse:
        answer: pb.StatusResponse = await self._call("status", pb.StatusRequest(), again=True)
        return answer

    async def _call(self, name: str, request: Any, *, timeout: float = 0, again: bool = False) -> Any:
        attempts = len(self._endpoints) + 1 if again else 1
        while True:
            attempts -= 1
            endpoint = await self.connected()
            try:
                return await endpoint.calls[name](request, timeout=timeout or self._config.request_timeout)
            except aio.AioRpcError as error:
                failure = translate(error.code(), error.details() or "")
                if not isinstance(failure, Unavailable):
                    raise failure from None
                self.leave(endpoint)
                if attempts <= 0:
                    raise failure from None
            except asyncio.CancelledError:
                self._raise_if_closed()
                raise

    async def connected(self) -> Endpoint:
        """An endpoint that a connection is open to; raises Unavailable when there is none."""
        self._raise_if_closed()
        endpoint = self._endpoints[self._current]
        return endpoint if endpoint.connected() else await self._dial()

    def leave(self, endpoint: Endpoint) -> None:
        """It failed: the next call goes elsewhere."""
        if self._endpoints and self._endpoints[self._current] is endpoint:
            self._current = (self._current + 1) % len(self._endpoints)

    def _raise_if_closed(self) -> None:
        """Closing cancels the calls under way, not the tasks that wait for them: those get an answer."""
        task = asyncio.current_task()
        if not self._endpoints and not (task and task.cancelling()):
            raise Unavailable("etcd: the engine is not open")

    async def _dial(self) -> Endpoint:
        """The next endpoint that answers; one that knows a leader, if any does."""
        first, leaderless, tried = self._current, None, []
        count = len(self._endpoints)
        for index in [(first + step) % count for step in range(count)]:
            self._raise_if_closed()
            endpoint = self._endpoints[index]
            try:
                status = await endpoint.dial()
            except StorageError as error:
                tried.append(f"{endpoint.url}: {error}")
                continue
            except asyncio.CancelledError:
                self._raise_if_closed()
                raise
            if status.leader:
                self._current = index
                return endpoint
            leaderless = index if leaderless is None else leaderless
        self._raise_if_closed()
        if leaderless is None:
            raise _not_there(tried)
        self._current = leaderless
        return self._endpoints[leaderless]

    async def survey(self) -> None:
        """Dial every endpoint, so that their versions are known; raises Unavailable when none answers."""
        self.open()
        answers = await asyncio.gather(*(e.dial() for e in self._endpoints), return_exceptions=True)
        tried = []
        for endpoint, answer in zip(self._endpoints, answers, strict=True):
            if isinstance(answer, StorageError):
                tried.append(f"{endpoint.url}: {answer}")
            elif isinstance(answer, BaseException):
                raise answer
        if len(tried) == len(answers):
            raise _not_there(tried)

    async def wait_ready(self, deadline: float, interval: float, progress: Callable[[int, str], None]) -> None:
        """`survey` until it goes well, at most for `deadline` seconds."""
        loop = asyncio.get_running_loop()
        start, attempt = loop.time(), 0
        while True:
            attempt += 1
            begun = loop.time()
            try:
                return await self.survey()
            except Unavailable as error:
                if begun + interval > start + deadline:
                    raise
                progress(attempt, str(error))
            await asyncio.sleep(max(0.0, begun + interval - loop.time()))


def _not_there(tried: list[str]) -> Unavailable:
    return Unavailable(f"etcd not there: tried {'; '.join(tried)}; start etcd or pass --etcd-servers")
