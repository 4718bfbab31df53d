"""A bounded cache whose entries expire."""

from __future__ import annotations

from typing import Generic, TypeVar

from kapi.api.clock import Clock

K = TypeVar("K")
V = TypeVar("V")


class ExpiringCache(Generic[K, V]):
    """When it is full, whatever went in first goes first."""

    def __init__(self, most: int, clock: Clock) -> None:
        self._most = most
        self._monotonic = clock.monotonic
        self._entries: dict[K, tuple[float, V]] = {}

    def get(self, key: K) -> V | None:
        entry = self._entries.get(key)
        if entry is None:
            return None
        if self._monotonic() < entry[0]:
            return entry[1]
        del self._entries[key]
        return None

    def put(self, key: K, value: V, seconds: float) -> None:
        if seconds <= 0:
            return
        self._entries.pop(key, None)
        if len(self._entries) >= self._most:
            del self._entries[next(iter(self._entries))]
        self._entries[key] = (self._monotonic() + seconds, value)
