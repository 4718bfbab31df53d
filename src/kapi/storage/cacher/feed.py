"""Where a watch takes its events from, and the feed that the cache is.

A feed is asked in this order: `state` or `now` for a position, `missed` until nothing is, then `attach`. Between the
last `missed` and `attach` nothing may be awaited, or an event could fall between them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher, Watcher
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.window import CacheEvent


class TooOld(kv.StorageError):
    """Events later than the position are gone; `floor` is the oldest position that could go on, if known."""

    def __init__(self, floor: Revision | None = None) -> None:
        super().__init__("the watch's position is too old")
        self.floor = floor


class Feed(Protocol):
    """One watcher's source of events, within one scope."""

    @property
    def revision(self) -> Revision:
        """An attached watcher has been told everything up to here: what a bookmark may say."""

    async def now(self) -> Revision:
        """A position that everything committed later comes after."""

    async def state(self, at_least: Revision) -> tuple[Sequence[Entry], Revision]:
        """What there is, at a revision not older than that; raises FutureRevision."""

    def missed(self, after: Revision, limit: int) -> Sequence[CacheEvent]:
        """The events right after a position, as far as they are at hand; raises TooOld."""

    def attach(self, watcher: Watcher, after: Revision) -> None:
        """From now on the watcher is told of every event."""

    def detach(self, watcher: Watcher) -> None: ...

    def request_progress(self) -> None:
        """`revision` should come up to date soon."""


class CachedFeed:
    """The cache as a feed."""

    def __init__(self, cacher: Cacher, scope: str) -> None:
        self._cacher = cacher
        self._scope = scope

    @property
    def revision(self) -> Revision:
        return self._cacher.revision

    async def now(self) -> Revision:
        return self._cacher.revision

    async def state(self, at_least: Revision) -> tuple[Sequence[Entry], Revision]:
        await self._cacher.wait_until(at_least)
        return self._cacher.select(self._scope), self._cacher.revision

    def missed(self, after: Revision, limit: int) -> Sequence[CacheEvent]:
        events = self._cacher.window.after(after, limit)
        if events is None:
            raise TooOld(self._cacher.window.floor)
        return events

    def attach(self, watcher: Watcher, after: Revision) -> None:
        self._cacher.attach(watcher)

    def detach(self, watcher: Watcher) -> None:
        self._cacher.detach(watcher)

    def request_progress(self) -> None:
        self._cacher.request_progress()
