"""Who watches: replay from the log in slices, then live, without gap or duplicate.

Commits publish on the loop, in the callback that moves the index on. A replay ends in a callback too, at the index's
revision, so what it has not read is exactly what will be published.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence

from kapi.api.objects import Revision
from kapi.storage.kv import Compacted, Event, Sink, StorageError, Unavailable
from kapi.storage.mvcc.index import KeyIndex

_SLICE_SECONDS = 0.004
_READ_AT_ONCE = 32
_ROUTES_KEPT = 8192


class Watcher:
    """One watch. `after` is what it has seen while it replays, and what it asked for once it is live."""

    def __init__(self, watchers: Watchers, prefix: str, after: int, sink: Sink) -> None:
        self._watchers = watchers
        self.prefix = prefix
        self.after = after
        self.sink = sink
        self._open = True
        self.live = False
        self.progress_wanted = False

    def request_progress(self) -> None:
        self.progress_wanted = True
        self._watchers.call_soon(self.tell_progress)

    def tell_progress(self) -> None:
        if self._open and self.live and self.progress_wanted:
            self.progress_wanted = False
            self.sink.progress(Revision(self._watchers.index.revision))

    def is_open(self) -> bool:
        return self._open

    def close(self) -> None:
        self._open = False
        self._watchers.remove(self)

    def fail(self, error: StorageError) -> None:
        if self._open:
            self.close()
            self.sink.failed(error)


class Watchers:
    def __init__(self, index: KeyIndex, read: Callable[[Sequence[int]], list[Event]]) -> None:
        self.index = index
        self._read = read
        self._replaying: set[Watcher] = set()
        self._live: dict[Watcher, None] = {}
        self._routes: dict[str, tuple[list[Watcher], list[Watcher]]] = {}

    def __len__(self) -> int:
        return len(self._live) + len(self._replaying)

    def call_soon(self, callback: Callable[[], None]) -> None:
        asyncio.get_running_loop().call_soon(callback)

    def add(self, prefix: str, after: int, sink: Sink) -> Watcher:
        watcher = Watcher(self, prefix, after, sink)
        if after >= self.index.revision:
            self._go_live(watcher)
        else:
            self._replaying.add(watcher)
            self.call_soon(lambda: self._replay(watcher, [], 0))
        return watcher

    def remove(self, watcher: Watcher) -> None:
        self._replaying.discard(watcher)
        if self._live.pop(watcher, watcher) is None:
            self._forget_routes(watcher.prefix)

    def close(self, error: StorageError) -> None:
        for watcher in [*self._live, *self._replaying]:
            watcher.fail(error)

    def publish(self, events: Sequence[Event]) -> None:
        """Committed events, in order. Every watcher's share is known before the first sink is called."""
        shares: dict[Watcher, list[Event]] = {}
        for event in events:
            key = event.key
            around, within = self._route(key[: key.rfind("/") + 1])
            for watcher in around:
                if event.revision > watcher.after:
                    shares.setdefault(watcher, []).append(event)
            for watcher in within:
                if key.startswith(watcher.prefix) and event.revision > watcher.after:
                    shares.setdefault(watcher, []).append(event)
        for watcher, share in shares.items():
            self._deliver(watcher, share)

    def _deliver(self, watcher: Watcher, events: list[Event]) -> None:
        if not watcher.is_open():
            return
        try:
            watcher.sink.events(events)
        except Exception as error:
            # A sink's fault must reach neither writers nor other sinks. Its state is unknown: let it watch again.
            context = {"message": f"watch of {watcher.prefix} failed to take events", "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)
            watcher.fail(Unavailable(f"watch of {watcher.prefix} failed to take events: {error}"))

    def _route(self, directory: str) -> tuple[list[Watcher], list[Watcher]]:
        """The watchers of all keys in that directory, and those of only some."""
        route = self._routes.get(directory)
        if route is None:
            around = [w for w in self._live if directory.startswith(w.prefix)]
            within = [w for w in self._live if w.prefix != directory and w.prefix.startswith(directory)]
            if len(self._routes) >= _ROUTES_KEPT:
                self._routes.clear()
            route = self._routes[directory] = (around, within)
        return route

    def _go_live(self, watcher: Watcher) -> None:
        watcher.live = True
        self._live[watcher] = None
        self._forget_routes(watcher.prefix)

    def _forget_routes(self, prefix: str) -> None:
        """Those that a watch of that prefix changes: among a thousand resources one more concerns few of them."""
        for directory in [d for d in self._routes if d.startswith(prefix) or prefix.startswith(d)]:
            del self._routes[directory]

    def _replay(self, watcher: Watcher, revisions: list[int], upto: int) -> None:
        """Deliver for a few milliseconds, then let the loop go round. `revisions`: those up to `upto`, newest first."""
        if not watcher.is_open():
            return
        if watcher.after < self.index.compacted:
            watcher.fail(Compacted(Revision(self.index.compacted)))
            return
        if not revisions:
            revisions, upto = self.index.changes(watcher.prefix, watcher.after)
            revisions.reverse()
        loop = asyncio.get_running_loop()
        deadline = loop.time() + _SLICE_SECONDS
        while revisions and watcher.is_open() and loop.time() < deadline:
            some = revisions[: -_READ_AT_ONCE - 1 : -1]
            del revisions[-len(some) :]
            try:
                events = self._read(some)
            except StorageError as error:
                watcher.fail(error)
                return
            watcher.after = some[-1]
            self._deliver(watcher, events)
        if not watcher.is_open():
            return
        if not revisions:
            watcher.after = upto
        if revisions or upto < self.index.revision:
            loop.call_soon(self._replay, watcher, revisions, upto)
        else:
            self._replaying.discard(watcher)
            self._go_live(watcher)
            watcher.tell_progress()
