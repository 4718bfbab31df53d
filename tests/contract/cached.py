"""The cache as an engine: reads and watches go through an object store, so that the contract's tests can ask it too."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Callable

from kapi.api.clock import SystemClock
from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher
from kapi.storage.cacher.entry import Entry, Shape
from kapi.storage.cacher.feed import CachedFeed, Feed, TooOld
from kapi.storage.cacher.window import CacheEvent
from kapi.storage.continuation import INCONSISTENT, Continuation
from kapi.storage.memory import MemoryKV
from kapi.storage.objects import Listing, ObjectStore, Query

SHAPE = Shape(kind="Value", api_version="v1", fields_of=lambda decoded: {})


class CachedKV:
    """Values are wrapped into objects on their way in, and unwrapped on their way out."""

    in_step = True
    supports_progress = True

    def __init__(self) -> None:
        self._engine = MemoryKV()
        self._cacher = Cacher(self._engine, "/", SHAPE, SystemClock())
        self._objects = ObjectStore(self._engine, self._cacher)
        self._watches: set[Following] = set()

    @property
    def current(self) -> Revision:
        return self._cacher.revision

    async def start(self) -> None:
        await self._engine.start()
        await self._cacher.started(10)

    async def close(self) -> None:
        for watch in list(self._watches):
            watch.ended(kv.Unavailable("closed"))
        await self._cacher.close()
        await self._engine.close()

    async def create(self, key: str, value: bytes, *, lease: int = 0) -> Revision:
        return await self._engine.create(key, self.wrap(value), lease=lease)

    async def update(self, key: str, value: bytes, expected: Revision, *, lease: int = 0) -> Revision:
        return await self._engine.update(key, self.wrap(value), expected, lease=lease)

    async def delete(self, key: str, expected: Revision) -> tuple[Revision, kv.KeyValue]:
        return await self._engine.delete(key, expected)

    async def get(self, key: str, revision: Revision = kv.NO_REVISION) -> tuple[kv.KeyValue | None, Revision]:
        if key.endswith("/"):
            return None, self.current
        if not revision:
            entry = await self._objects.get(key, None)
        else:
            listing = await self._objects.list(Query(scope=key, revision=revision, exact=True))
            entry = listing.entries[0] if listing.entries else None
        return (self.unwrap(entry) if entry else None), self.current

    async def range(
        self, prefix: str, *, start: str = "", limit: int = 0, revision: Revision = kv.NO_REVISION
    ) -> kv.Page:
        if not prefix.endswith("/") or not start.startswith(prefix):
            return await self._range_by_hand(prefix, start, limit, revision)
        continuation = Continuation(start[len(prefix) :], revision or INCONSISTENT)
        return self._page(await self._objects.list(Query(scope=prefix, limit=limit, continuation=continuation)))

    async def _range_by_hand(self, prefix: str, start: str, limit: int, revision: Revision) -> kv.Page:
        """Lists have directories only: the rest is a matter of choosing."""
        query = Query(
            scope=prefix if prefix.endswith("/") else "/",
            revision=revision or None,
            exact=bool(revision),
            limit=0 if start or not prefix.endswith("/") else limit,
            selects=None if prefix.endswith("/") else lambda entry: entry.key.startswith(prefix),
        )
        page = self._page(await self._objects.list(query))
        if not start and query.limit == limit:
            return page
        items = [item for item in page.items if item.key >= start]
        shown = items[: limit or None]
        return kv.Page(shown, page.revision, len(shown) < len(items), len(items))

    def _page(self, listing: Listing) -> kv.Page:
        left = listing.remaining or 0
        items = [self.unwrap(entry) for entry in listing.entries]
        return kv.Page(items, listing.revision, bool(left), len(items) + left)

    async def count(self, prefix: str) -> int:
        return (await self.range(prefix)).count

    async def revision(self) -> Revision:
        return self._cacher.revision

    def watch(self, prefix: str, after: Revision, sink: kv.Sink) -> Following:
        watch = Following(self._cacher, prefix, after, sink, self._watches.discard)
        self._watches.add(watch)
        return watch

    async def grant(self, ttl: int) -> int:
        return await self._engine.grant(ttl)

    async def compact(self, revision: Revision) -> None:
        await self._engine.compact(revision)

    async def stats(self) -> kv.Stats:
        return await self._engine.stats()

    def wrap(self, value: bytes) -> bytes:
        data = base64.b64encode(value).decode()
        return self._objects.encode({"metadata": {"name": "value"}, "data": data})

    @staticmethod
    def unwrap(entry: Entry) -> kv.KeyValue:
        return kv.KeyValue(entry.key, value_of(entry), entry.revision, entry.created)


def value_of(entry: Entry) -> bytes:
    return base64.b64decode(entry.object["data"])


class Following:
    """A watch through the cache's feed: what was missed, then what comes."""

    def __init__(
        self, cacher: Cacher, prefix: str, after: Revision, sink: kv.Sink, forget: Callable[[Following], None]
    ) -> None:
        self.scope = "/"
        self._prefix, self._position, self._sink, self._forget = prefix, after, sink, forget
        self._feed: Feed = CachedFeed(cacher, "/")
        self._open = True
        self._call_soon(self._begin)

    def _call_soon(self, callback: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(callback)

    def _begin(self) -> None:
        if not self._open:
            return
        try:
            for event in self._feed.missed(self._position, 0):
                if self._open:
                    self.deliver(event)
        except TooOld as too_old:
            assert too_old.floor is not None
            self.ended(kv.Compacted(too_old.floor))
            return
        if self._open:
            self._feed.attach(self, self._position)

    def deliver(self, event: CacheEvent) -> None:
        if event.revision <= self._position:
            return
        self._position = event.revision
        if event.key.startswith(self._prefix):
            self._sink.events([self._event(event)])

    def _event(self, event: CacheEvent) -> kv.Event:
        kind, before = event.seen_by(None), event.previous
        now = None if kind == "DELETED" else event.shown_as(kind)
        return kv.Event(
            event.key,
            event.revision,
            value_of(now) if now else None,
            value_of(before) if before else None,
            (now or event.shown_as(kind)).created,
            before.revision if before else kv.NO_REVISION,
        )

    def ended(self, error: kv.StorageError | None) -> None:
        if self._open:
            self.close()
            self._sink.failed(error or kv.Unavailable("the cache started anew"))

    def request_progress(self) -> None:
        self._call_soon(self._tell_progress)

    def _tell_progress(self) -> None:
        if self._open:
            self._sink.progress(self._feed.revision)

    def close(self) -> None:
        self._open = False
        self._feed.detach(self)
        self._forget(self)
