"""Watching without a cache: the engine itself as a feed, for one watcher."""

from __future__ import annotations

import time
from collections.abc import Sequence

from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.cacher.cacher import Watcher
from kapi.storage.cacher.entry import Entry, EntryMaker
from kapi.storage.cacher.feed import TooOld
from kapi.storage.cacher.window import CacheEvent

_PAGE = 5_000


class DirectFeed:
    """A Feed, and the kv.Sink of its engine's watch while a watcher is attached.

    A slow watcher detaches, and the engine replays what it missed when it attaches again: nothing is queued here.
    """

    wants_previous = True

    def __init__(self, store: kv.KV, make_entry: EntryMaker, scope: str) -> None:
        self._store = store
        self._make_entry = make_entry
        self._scope = scope
        self._watch: kv.Watch | None = None
        self._watcher: Watcher | None = None
        self._told = kv.NO_REVISION

    # Feed

    @property
    def revision(self) -> Revision:
        return self._told

    async def now(self) -> Revision:
        self._told = await self._store.revision()
        return self._told

    async def state(self, at_least: Revision) -> tuple[Sequence[Entry], Revision]:
        entries: list[Entry] = []
        start, revision = "", kv.NO_REVISION
        while True:
            page = await self._store.range(self._scope, start=start, limit=_PAGE, revision=revision)
            revision = page.revision
            if revision < at_least:
                raise kv.FutureRevision(revision)
            entries += [
                self._make_entry(i.key, i.value, i.revision, i.created) for i in page.items if self._holds(i.key)
            ]
            if not page.more:
                self._told = revision
                return entries, revision
            start = page.items[-1].key + "\0"

    def missed(self, after: Revision, limit: int) -> Sequence[CacheEvent]:
        return ()

    def attach(self, watcher: Watcher, after: Revision) -> None:
        self._watcher = watcher
        self._told = max(self._told, after)
        self._watch = self._store.watch(self._scope, after, self)

    def detach(self, watcher: Watcher) -> None:
        self._watcher = None
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    def request_progress(self) -> None:
        if self._watch is not None:
            self._watch.request_progress()

    # kv.Sink

    def events(self, events: Sequence[kv.Event]) -> None:
        for event in events:
            if self._watcher is None:
                return
            if self._holds(event.key):
                try:
                    change = self._change(event)
                except kv.Corrupt as error:
                    self._end(error)
                    return
                self._watcher.deliver(change)
            self._told = event.revision

    def progress(self, revision: Revision) -> None:
        self._told = max(self._told, revision)

    def failed(self, error: kv.StorageError) -> None:
        self._watch = None
        self._end(TooOld() if isinstance(error, kv.Compacted) else error)

    def _end(self, error: kv.StorageError) -> None:
        watcher = self._watcher
        if watcher is not None:
            self.detach(watcher)
            watcher.ended(error)

    def _holds(self, key: str) -> bool:
        """Engines know prefixes only: the scope of one key has those that merely begin like it, too."""
        return self._scope.endswith("/") or key == self._scope

    def _change(self, event: kv.Event) -> CacheEvent:
        make, entry, previous = self._make_entry, None, None
        if event.previous is not None:
            previous = make(event.key, event.previous, event.previous_revision or event.revision, event.created)
        if event.value is not None:
            entry = make(event.key, event.value, event.revision, event.created)
        return CacheEvent(entry, previous, event.revision, time.monotonic())
