"""Leases: when they end, the keys that go with them, and one timer for all."""

from __future__ import annotations

import asyncio
import heapq
import random
from collections.abc import Callable

from kapi.api.clock import Clock

_LONGEST_SLEEP = 60.0  # the wall clock may be set while the timer runs
_RETRY = 1.0
# As upstream does it to etcd: leases that end at about the same time are one, because each costs a commit of its own.
_SHARE = 0.05
_LONGEST_SHARE = 60


class Leases:
    def __init__(self, clock: Clock, ring: Callable[[], None]) -> None:
        self._clock = clock
        self._ring = ring
        self._keys: dict[int, set[str]] = {}
        self._ended: set[int] = set()
        self._queue: list[tuple[float, int]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._shared: dict[int, tuple[int, float]] = {}  # by TTL: the lease last granted, and until when it is given

    def __len__(self) -> int:
        return len(self._keys)

    def __contains__(self, lease: int) -> bool:
        """Whether keys may be written with it: not once it has ended."""
        return lease in self._keys and lease not in self._ended

    def shared(self, ttl: int) -> int | None:
        """A lease granted a moment ago that lasts as long as asked for, and not much longer."""
        lease, until = self._shared.get(ttl, (0, 0.0))
        now = self._clock.now()
        return lease if lease in self and until - _window(ttl) <= now < until else None

    def propose(self, ttl: int) -> tuple[int, float]:
        """An unused id, and when the lease ends."""
        return random.getrandbits(62) | 1, self._clock.now() + ttl + _window(ttl)

    def granted(self, lease: int, ttl: int, expires: float) -> None:
        self.add(lease, expires)
        if _window(ttl):
            self._shared[ttl] = (lease, expires - ttl)

    def add(self, lease: int, expires: float) -> None:
        self._keys.setdefault(lease, set())
        heapq.heappush(self._queue, (expires, lease))
        if self._queue[0][1] == lease:
            self.wind()

    def attach(self, lease: int, key: str) -> None:
        self._keys.setdefault(lease, set()).add(key)

    def detach(self, lease: int, key: str) -> None:
        if keys := self._keys.get(lease):
            keys.discard(key)

    def keys(self, lease: int) -> list[str]:
        return list(self._keys.get(lease, ()))

    def end_due(self) -> list[int]:
        """The leases whose time is over. From now on nothing is written with them."""
        now = self._clock.now()
        while self._queue and self._queue[0][0] <= now:
            self._ended.add(heapq.heappop(self._queue)[1])
        return list(self._ended)

    def forget(self, lease: int) -> None:
        self._keys.pop(lease, None)
        self._ended.discard(lease)

    def wind(self) -> None:
        """Set the timer for whatever is next; what has ended but could not be deleted is tried again soon."""
        self.stop()
        if self._ended:
            delay = _RETRY
        elif self._queue:
            delay = min(max(self._queue[0][0] - self._clock.now(), 0.0), _LONGEST_SLEEP)
        else:
            return
        self._timer = asyncio.get_running_loop().call_later(delay, self._ring)

    def stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


def _window(ttl: int) -> int:
    """How many seconds longer than asked a lease may last."""
    return min(int(_SHARE * ttl), _LONGEST_SHARE)
