"""Following one cache: every change, and that it begins anew."""

from __future__ import annotations

from collections.abc import Callable

from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.window import CacheEvent


class Follower:
    """A cacher.Watcher: `changed` is told the key and what is there now, `lost` that what was told is worth nothing."""

    def __init__(self, cacher: Cacher, changed: Callable[[str, Entry | None], None], lost: Callable[[], None]) -> None:
        self.scope = cacher.prefix
        self._cacher = cacher
        self._changed = changed
        self._lost = lost
        cacher.attach(self)

    def stop(self) -> None:
        self._cacher.detach(self)

    def deliver(self, event: CacheEvent) -> None:
        gone = event.seen_by(None) == "DELETED"
        self._changed(event.key, None if gone else event.shown_as("MODIFIED"))

    def ended(self, error: kv.StorageError | None) -> None:
        self._lost()
