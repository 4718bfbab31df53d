"""Leases, shared by objects that expire at about the same time, because a lease costs etcd more than a key."""

from __future__ import annotations

import asyncio

from kapi.api.clock import Clock
from kapi.storage.etcd.client import Client
from kapi.storage.kv import StorageError

REUSE_SHARE = 0.05


class Leases:
    """As upstream: a lease lives longer than asked by the reuse window (5 % of the TTL, `reuse_seconds` at most), and
    within that window serves every request that it outlives by no more than the window, for `max_objects` at most."""

    def __init__(self, client: Client, clock: Clock, *, reuse_seconds: int, max_objects: int) -> None:
        self._client = client
        self._clock = clock
        self._reuse_seconds = reuse_seconds
        self._max_objects = max_objects
        self._lock = asyncio.Lock()
        self._lease = 0
        self._expires = 0.0
        self._objects = 0

    async def grant(self, ttl: int) -> int:
        async with self._lock:
            window = min(int(REUSE_SHARE * ttl), self._reuse_seconds)
            now = self._clock.monotonic()
            self._objects += 1
            if now + ttl < self._expires <= now + ttl + window and self._objects <= self._max_objects:
                return self._lease
            answer = await self._client.lease_grant(ttl + window)
            if answer.error:
                raise StorageError(f"etcd: lease of {ttl + window} s: {answer.error}")
            self._lease, self._expires, self._objects = answer.ID, now + ttl + window, 1
            return self._lease

    def forget(self, lease: int) -> None:
        """It is gone: the next grant gets another."""
        if lease == self._lease:
            self._expires = 0.0
