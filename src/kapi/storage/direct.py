"""Watching without a cache: events straight from the engine, for one watcher."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.cacher.entry import EntryMaker
from kapi.storage.cacher.window import CacheEvent


class DirectFeed:
    """A kv.Sink that turns what the engine commits under a scope into events for one watcher."""

    def __init__(
        self,
        make_entry: EntryMaker,
        deliver: Callable[[CacheEvent], None],
        failed: Callable[[kv.StorageError], None],
    ) -> None:
        self._make_entry = make_entry
        self._deliver = deliver
        self._failed = failed

    def events(self, events: Sequence[kv.Event]) -> None:
        for event in events:
            self._deliver(self._change(event))

    def progress(self, revision: Revision) -> None: ...

    def failed(self, error: kv.StorageError) -> None:
        self._failed(error)

    def _change(self, event: kv.Event) -> CacheEvent:
        make, previous = self._make_entry, None
        if event.previous is not None:
            previous = make(event.key, event.previous, event.previous_revision or event.revision, event.created)
        if event.value is not None:
            entry = make(event.key, event.value, event.revision, event.created)
            return CacheEvent(entry, previous, event.revision, time.monotonic(), deleted=False)
        assert previous is not None, "a delete has something to delete"
        return CacheEvent(previous.at(event.revision), previous, event.revision, time.monotonic(), deleted=True)
