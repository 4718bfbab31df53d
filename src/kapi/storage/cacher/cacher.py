"""The cache of one resource: entries by key, the window of recent events, and the watchers of both.

It follows the store by list and watch. Embedded engines call `events` before a write's caller goes on, so there a cache
that is ready is never behind; on etcd it may be, and `wait_until` catches up with a revision first.
"""

from __future__ import annotations

import asyncio
import math
from bisect import bisect_left, insort
from collections.abc import Sequence
from typing import Protocol

from kapi.api.clock import Clock
from kapi.api.objects import Revision
from kapi.storage import kv
from kapi.storage.cacher.entry import Entry, EntryMaker, Shape
from kapi.storage.cacher.window import CacheEvent, Window
from kapi.telemetry.log import log

PAGE = 2_000  # as many as are made into entries in one turn of the loop
RETRY_SECONDS = 1.0
PROGRESS_SECONDS = 0.1
ASK_SECONDS = 60.0
# How long a read waits for a revision the cache has not seen, as upstream's blockTimeout.
CATCH_UP_SECONDS = 3.0


class NotReady(kv.StorageError):
    """The cache is being filled; the client may try again in so many seconds."""

    def __init__(self, retry_after: int) -> None:
        super().__init__("storage is (re)initializing")
        self.retry_after = retry_after


class Watcher(Protocol):
    """Who is told of every event in its scope while it is attached."""

    scope: str

    def deliver(self, event: CacheEvent) -> None: ...

    def ended(self, error: kv.StorageError | None) -> None:
        """Nothing more will come: what this watcher saw so far no longer leads to what comes next."""


class Cacher:
    """A kv.Sink. Everything but `run`, `started` and `wait_until` is synchronous: reads never wait."""

    wants_previous = False  # the entries have it

    def __init__(self, store: kv.KV, prefix: str, shape: Shape, clock: Clock, capacity: int = 0) -> None:
        self.prefix = prefix
        self.make_entry = EntryMaker(shape)
        self._store = store
        self._clock = clock
        self._capacity = capacity
        self._entries: dict[str, Entry] = {}
        self._keys: list[str] = []
        self._watchers: dict[str, dict[Watcher, None]] = {}  # by scope, in the order they came
        self._waiters: list[tuple[Revision, asyncio.Future[None]]] = []
        self._watch: kv.Watch | None = None
        self._task: asyncio.Task[None] | None = None
        self._lost: asyncio.Future[kv.StorageError] | None = None
        self.ready = False  # whether reads may be answered from here
        self._settled = asyncio.Event()  # ready, or found to be unreadable
        self._down_since = clock.monotonic()
        self._seen = kv.NO_REVISION
        self.window = Window(kv.NO_REVISION, capacity)
        self.fills = 0  # how often it was filled: more than once is worth a look

    # Following the store.

    @property
    def in_step(self) -> bool:
        """Whether a write is here before its caller goes on."""
        return self._store.in_step

    @property
    def unreadable(self) -> bool:
        """Whether the store holds values that cannot be read, so that the cache cannot be filled."""
        return self._settled.is_set() and not self.ready

    @property
    def awaited(self) -> bool:
        """Whether somebody asked for it and it has never been filled, though it can be."""
        return self._task is not None and not self.fills and not self.unreadable

    async def filled(self, timeout: float) -> bool:
        """Like `started`, for who only wants it under way: whether it is filled, or cannot be for what is stored."""
        try:
            await self.started(timeout)
        except NotReady:
            return self.unreadable
        return True

    async def started(self, timeout: float) -> None:
        """Fill the cache if nobody asked for it before; raises NotReady when that takes longer than the time given."""
        if self.ready:
            return
        if self._task is None or self._task.done():
            self._down_since = self._clock.monotonic()
            self._task = asyncio.get_running_loop().create_task(self._run())
        try:
            async with asyncio.timeout(timeout):
                await self._settled.wait()
        except TimeoutError:
            raise NotReady(self._retry_after()) from None
        if not self.ready:
            raise NotReady(self._retry_after())

    def _retry_after(self) -> int:
        """As upstream: the longer it has been down, the longer clients stay away; 30 seconds at most."""
        down = self._clock.monotonic() - self._down_since
        return min(30, math.ceil(math.exp(min(0.06 * down, 10.0))))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        if self._watch is not None:
            self._watch.close()
            self._watch = None

    async def _run(self) -> None:
        while True:
            try:
                await self._fill()
                error = await self._follow()
                while isinstance(error, kv.Unavailable):
                    log.warning("watch_cache_reconnects", prefix=self.prefix, error=str(error))
                    await asyncio.sleep(RETRY_SECONDS)
                    error = await self._follow()
            except kv.StorageError as failed:
                error = failed
                if isinstance(failed, (kv.Corrupt, kv.CorruptObjects)):
                    self._settled.set()
                await asyncio.sleep(RETRY_SECONDS)
            log.warning("watch_cache_restarts", prefix=self.prefix, error=str(error))
            self._not_ready()

    async def _fill(self) -> None:
        """List everything at one revision. Nothing is shown before it is complete."""
        entries: dict[str, Entry] = {}
        start, revision = "", kv.NO_REVISION
        while True:
            page = await self._store.range(self.prefix, start=start, limit=PAGE, revision=revision)
            revision = page.revision
            for item in page.items:
                entries[item.key] = self.make_entry(item.key, item.value, item.revision, item.created)
            if not page.more:
                break
            start = page.items[-1].key + "\0"
            await asyncio.sleep(0)
        self._entries, self._keys = entries, sorted(entries)
        self._seen = revision
        self.window = Window(revision, self._capacity)
        self.fills += 1
        self.end_watches()

    async def _follow(self) -> kv.StorageError:
        """Watch from where the cache is until the watch ends; the reason why it did."""
        self._lost = asyncio.get_running_loop().create_future()
        self._watch = self._store.watch(self.prefix, self._seen, self)
        if self._store.in_step:
            # In step only when everything written since the list has been replayed: then progress is told.
            self._watch.request_progress()
        else:
            self._set_ready()
        while not self._lost.done():
            await asyncio.wait((self._lost,), timeout=ASK_SECONDS)
            # A resource that rests must not fall behind what is compacted, or a broken watch could not go on.
            self.request_progress()
        return self._lost.result()

    def _set_ready(self) -> None:
        self.ready = True
        self._settled.set()

    def _not_ready(self) -> None:
        if self.ready:
            self.ready = False
            self._settled.clear()
            self._down_since = self._clock.monotonic()

    # kv.Sink

    def events(self, events: Sequence[kv.Event]) -> None:
        now = self._clock.monotonic()
        for event in events:
            try:
                change = self._apply(event, now)
            except kv.Corrupt as error:
                self._give_up(error)
                return
            self._seen = event.revision
            if change is not None:
                self.window.append(change)
                self._dispatch(change)
        self._wake()

    def progress(self, revision: Revision) -> None:
        if revision > self._seen:
            self._seen = revision
        self._set_ready()
        self._wake()

    def failed(self, error: kv.StorageError) -> None:
        self._watch = None
        if self._store.in_step:
            self._not_ready()
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(error)

    def _give_up(self, error: kv.StorageError) -> None:
        if self._watch is not None:
            self._watch.close()
        self.failed(error)

    def _apply(self, event: kv.Event, now: float) -> CacheEvent | None:
        key = event.key
        previous = self._entries.get(key)
        if event.value is not None:
            entry = self.make_entry(key, event.value, event.revision, event.created)
            if previous is None:
                insort(self._keys, key)
            self._entries[key] = entry
            return CacheEvent(entry, previous, event.revision, now)
        if previous is None:
            return None
        del self._entries[key]
        del self._keys[bisect_left(self._keys, key)]
        return CacheEvent(None, previous, event.revision, now)

    def _dispatch(self, event: CacheEvent) -> None:
        if not self._watchers:
            return
        key = event.key
        namespace = key[: key.rindex("/") + 1]
        for scope in {self.prefix, namespace, key}:
            watchers = self._watchers.get(scope)
            if watchers:
                for watcher in tuple(watchers):
                    watcher.deliver(event)
        event.frames = None  # a late watcher makes its own: the window need not hold each object twice

    # Watchers

    def attach(self, watcher: Watcher) -> None:
        self._watchers.setdefault(watcher.scope, {})[watcher] = None

    def detach(self, watcher: Watcher) -> None:
        watchers = self._watchers.get(watcher.scope)
        if watchers is not None:
            watchers.pop(watcher, None)
            if not watchers:
                del self._watchers[watcher.scope]

    def end_watches(self) -> None:
        """Nothing more will come from here: watchers look for their events elsewhere."""
        for watcher in [w for watchers in self._watchers.values() for w in watchers]:
            watcher.ended(None)

    # Reading

    @property
    def revision(self) -> Revision:
        """Everything up to here is in the cache."""
        if self._store.in_step and self.ready:
            return max(self._seen, self._store.current)
        return self._seen

    @property
    def changed(self) -> Revision:
        """The revision of the last change to this resource: the cache shows the state at any revision from here on."""
        newest = self.window.newest
        return newest.revision if newest is not None else self.window.floor

    def get(self, key: str) -> Entry | None:
        return self._entries.get(key)

    def select(self, scope: str, start: str = "", limit: int = 0) -> list[Entry]:
        """The entries of a scope (a prefix, or one key), in key order, from `start` on; 0: without a limit."""
        if not scope.endswith("/"):
            entry = self._entries.get(scope)
            return [entry] if entry is not None else []
        entries = self._entries
        first, last = self._span(scope, start)
        keys = self._keys
        if limit or last - first < len(keys):
            keys = keys[first : min(first + limit, last) if limit else last]
        return [entries[k] for k in keys]

    def count(self, scope: str, start: str = "") -> int:
        """How many entries `select` has without a limit."""
        first, last = self._span(scope, start)
        return max(last - first, 0)

    def _span(self, scope: str, start: str) -> tuple[int, int]:
        return bisect_left(self._keys, max(scope, start)), bisect_left(self._keys, kv.prefix_end(scope))

    def sample(self, count: int) -> list[Entry]:
        """About so many entries, evenly spread over the keys."""
        return [self._entries[key] for key in self._keys[:: len(self._keys) // count or 1]]

    def __len__(self) -> int:
        return len(self._keys)

    async def wait_until(self, revision: Revision) -> None:
        """Until the cache has seen that revision; FutureRevision when it does not come in time."""
        if revision <= self.revision:
            return
        loop = asyncio.get_running_loop()
        deadline = loop.time() + CATCH_UP_SECONDS
        reached: asyncio.Future[None] = loop.create_future()
        self._waiters.append((revision, reached))
        try:
            while not reached.done():
                left = deadline - loop.time()
                if left <= 0:
                    raise kv.FutureRevision(self.revision)
                self.request_progress()
                await asyncio.wait((reached,), timeout=min(left, PROGRESS_SECONDS))
                # An embedded engine tells no progress: a write elsewhere moves the revision without an event here.
                if revision <= self.revision:
                    return
        finally:
            self._waiters = [w for w in self._waiters if w[1] is not reached]

    def request_progress(self) -> None:
        """Learn of the store's newest revision soon."""
        if self._watch is not None:
            self._watch.request_progress()

    def _wake(self) -> None:
        for revision, waiter in self._waiters:
            if revision <= self._seen and not waiter.done():
                waiter.set_result(None)
