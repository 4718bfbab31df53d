"""The recent events of one resource: what a watch may start from.

Sized by the event rate, as upstream's watch cache: it grows while it holds less than 75 seconds, and shrinks when
a quarter of it would do.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import Any

from kapi.api.objects import Revision
from kapi.storage.cacher.entry import Entry

FRESH_SECONDS = 75.0
LOWEST_CAPACITY = 100
HIGHEST_CAPACITY = 100 * 1024


class CacheEvent:
    """One change: the state after it (None for a delete) and the state before it (None for a create)."""

    __slots__ = ("_entry", "frames", "previous", "revision", "time")

    def __init__(self, entry: Entry | None, previous: Entry | None, revision: Revision, time: float) -> None:
        self._entry = entry
        self.previous = previous
        self.revision = revision
        self.time = time
        self.frames: dict[Any, bytes] | None = None  # encoded once per form, shared by all watchers

    @property
    def key(self) -> str:
        entry = self._entry or self.previous
        assert entry is not None, "a delete has something to delete"
        return entry.key

    def seen_by(self, selects: Callable[[Entry], bool] | None) -> str:
        """The type of the event that a watcher with that selector sees; empty when it sees none.

        As upstream's convertToWatchEvent: an object that leaves the selector is DELETED.
        """
        if selects is None:
            return "DELETED" if self._entry is None else "ADDED" if self.previous is None else "MODIFIED"
        now = self._entry is not None and selects(self._entry)
        before = self.previous is not None and selects(self.previous)
        if now:
            return "MODIFIED" if before else "ADDED"
        return "DELETED" if before else ""

    def shown_as(self, kind: str) -> Entry:
        """The object of an event of that type: DELETED shows the former state, at this event's revision."""
        if kind != "DELETED" and self._entry is not None:
            return self._entry
        # Made when it is asked for: the window need not hold a deleted object twice.
        assert self.previous is not None, "a delete has something to delete"
        return self.previous.at(self.revision)


class Window:
    def __init__(self, floor: Revision, capacity: int = LOWEST_CAPACITY) -> None:
        self.floor = floor  # everything later than this is here
        self.trimmed = False  # whether there were older events
        self.capacity = max(capacity, LOWEST_CAPACITY)
        self._events: list[CacheEvent] = []
        self._revisions: list[Revision] = []

    def append(self, event: CacheEvent) -> None:
        self._events.append(event)
        self._revisions.append(event.revision)
        # Trimmed a quarter at a time: removing from the front of a list moves the rest.
        if len(self._events) > self.capacity + self.capacity // 4:
            self._resize(event.time)
            self._trim(len(self._events) - self.capacity)

    def after(self, revision: Revision, limit: int = 0) -> Sequence[CacheEvent] | None:
        """The events later than that revision, oldest first; None when some of them are gone."""
        if revision < self.floor:
            return None
        start = bisect_right(self._revisions, revision)
        return self._events[start : start + limit] if limit else self._events[start:]

    @property
    def newest(self) -> CacheEvent | None:
        return self._events[-1] if self._events else None

    def __len__(self) -> int:
        return len(self._events)

    def _resize(self, now: float) -> None:
        if now - self._events[-self.capacity].time < FRESH_SECONDS:
            self.capacity = min(self.capacity * 2, HIGHEST_CAPACITY)
        elif now - self._events[-self.capacity // 4].time > FRESH_SECONDS:
            self.capacity = max(self.capacity // 2, LOWEST_CAPACITY)

    def _trim(self, count: int) -> None:
        if count > 0:
            self.floor = self._revisions[count - 1]
            self.trimmed = True
            del self._events[:count], self._revisions[:count]
