"""Watch: initial state, what was missed, then every event as it is committed.

No watcher has a queue. Live, an event's frame is written into the stream by the commit itself; a watcher whose peer is
slow is detached and catches up from the cache's window when it can take more, or ends when the window has moved on.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.objects import Revision
from kapi.endpoints.endpoint import Endpoint
from kapi.endpoints.negotiate import PLAIN, Form, negotiate
from kapi.endpoints.params import ListOptions, list_options, revision
from kapi.endpoints.reading import narrowed_scope, selects
from kapi.endpoints.render import include_object
from kapi.registry.translate import storage_errors, too_large_resource_version
from kapi.storage import kv
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.window import CacheEvent
from kapi.storage.objects import FILL_SECONDS
from kapi.wire.messages import BodyStream, ClientGone, Response

# A peer that has not taken this much is slow.
LAG_BYTES = 1 << 20
CATCH_UP_EVENTS = 500
BOOKMARK_SECONDS = 60.0
# A last bookmark this long before the watch times out, as upstream.
FAREWELL_SECONDS = 2.0


async def watch(call: Call, endpoint: Endpoint) -> Response:
    form = negotiate(call.request.headers.get("accept"), streaming=True)
    options = list_options(call, endpoint.resource, watch=True)
    wanted = revision(options.resource_version)
    if form.transform == "Table":
        include_object(call)
    scope, fields = narrowed_scope(call, endpoint, options.fields)
    cacher = endpoint.store.objects.cacher
    with storage_errors(endpoint.resource.group_resource):
        await cacher.started(FILL_SECONDS)
        if wanted is None:
            await endpoint.store.objects.catch_up()
    watching = Watching(call, endpoint, form, options, scope)
    watching.selects = selects(options, fields)
    watching.wanted = wanted
    return Response(200, [(b"content-type", b"application/json")], stream=watching.run)


class Watching:
    """One watch request, from its first byte to its last. It is a cacher's Watcher while it is live."""

    def __init__(self, call: Call, endpoint: Endpoint, form: Form, options: ListOptions, scope: str) -> None:
        self.scope = scope
        self.selects: Callable[[Entry], bool] | None = None
        self.wanted: Revision | None = None
        self._call = call
        self._endpoint = endpoint
        self._cacher = endpoint.store.objects.cacher
        self._form = form
        self._options = options
        self._position = kv.NO_REVISION
        self._columns_sent = False
        self._stream: BodyStream
        self._stopped: asyncio.Future[str]  # resolved with why the live phase ended

    async def run(self, stream: BodyStream) -> None:
        self._stream = stream
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + self._seconds()
        try:
            async with asyncio.timeout_at(self._deadline):
                if await self._begin():
                    while await self._catch_up() and await self._live():
                        pass
        except (TimeoutError, ClientGone):
            return

    def _seconds(self) -> float:
        """As asked, or at random so that watches do not all end together."""
        asked = self._options.timeout
        if asked is not None and asked > 0:
            return float(asked)
        return self._endpoint.limits.min_watch_seconds * (random.random() + 1.0)

    # The beginning

    async def _begin(self) -> bool:
        """Send the initial state if it is wanted, and take a position; whether the watch goes on."""
        cacher, wanted = self._cacher, self.wanted
        initial = self._options.initial_events
        if initial and wanted:
            try:
                await cacher.wait_until(wanted)
            except kv.FutureRevision as future:
                await self._error(too_large_resource_version(wanted, future.current))
                return False
        if initial or (not wanted and initial is None):
            await self._initial_state()
            return True
        self._position = wanted or cacher.revision
        return True

    async def _initial_state(self) -> None:
        self._position = self._cacher.revision
        entries = self._cacher.select(self.scope)
        frames: list[bytes] = []
        for entry in entries:
            if self.selects is None or self.selects(entry):
                frames.append(self._frame("ADDED", entry))
                if len(frames) >= CATCH_UP_EVENTS:
                    await self._stream.write(b"".join(frames))
                    frames.clear()
        if self._options.bookmarks:
            end = b'"annotations":{"k8s.io/initial-events-end":"true"},'
            frames.append(self._bookmark(self._position, end))
        if frames:
            await self._stream.write(b"".join(frames))

    # Behind

    async def _catch_up(self) -> bool:
        """Send what the window holds later than our position; whether the watch goes on."""
        while True:
            events = self._cacher.window.after(self._position, CATCH_UP_EVENTS)
            if events is None:
                floor = self._cacher.window.floor
                await self._error(errors.Expired(f"too old resource version: {self._position} ({floor})"))
                return False
            if not events:
                return True
            frames = [self._render(e) for e in events if self._in_scope(e)]
            self._position = max(self._position, events[-1].revision)
            await self._stream.write(b"".join(frames))

    def _in_scope(self, event: CacheEvent) -> bool:
        key = event.entry.key
        return key.startswith(self.scope) if self.scope.endswith("/") else key == self.scope

    # Live

    async def _live(self) -> bool:
        """Take events as they come until the peer is slow (True) or the watch is over (False)."""
        loop = asyncio.get_running_loop()
        self._stopped = loop.create_future()
        self._call.request.on_disconnect(lambda: self._stop("gone"))
        self._cacher.attach(self)
        try:
            while True:
                await asyncio.wait((self._stopped,), timeout=self._until_bookmark(loop.time()))
                if self._stopped.done():
                    break
                if self._options.bookmarks:
                    self._stream.write_nowait(self._bookmark(self._cacher.revision))
        finally:
            self._cacher.detach(self)
        if self._stopped.result() != "slow":
            return False
        await self._stream.write(b"")
        return True

    def _until_bookmark(self, now: float) -> float:
        farewell = self._deadline - FAREWELL_SECONDS - now
        return min(BOOKMARK_SECONDS, farewell) if farewell > 0 else BOOKMARK_SECONDS

    def deliver(self, event: CacheEvent) -> None:
        if event.revision <= self._position:
            return
        self._position = event.revision
        frame = self._render(event)
        if frame:
            stream = self._stream
            stream.write_nowait(frame)
            if stream.buffered > LAG_BYTES:
                self._cacher.detach(self)
                self._stop("slow")

    def invalidated(self) -> None:
        self._stop("restarted")

    def _stop(self, why: str) -> None:
        if not self._stopped.done():
            self._stopped.set_result(why)

    # Frames

    def _render(self, event: CacheEvent) -> bytes:
        """The event's frame, shared by all watchers that see it alike; empty when this one does not see it."""
        if self.selects is None:
            kind = "DELETED" if event.deleted else "ADDED" if event.previous is None else "MODIFIED"
            former = False
        else:
            seen = event.seen_by(self.selects)
            if seen is None:
                return b""
            kind = seen[0]
            former = kind == "DELETED" and not event.deleted
        if self._form is not PLAIN and self._form.transform == "Table":
            return self._frame(kind, event.former if former else event.entry)
        key = (kind, self._form)
        frame = event.frames.get(key)
        if frame is None:
            frame = event.frames[key] = self._frame(kind, event.former if former else event.entry)
        return frame

    def _frame(self, kind: str, entry: Entry) -> bytes:
        shown = self._endpoint.renderer.event(self._call, entry, self._form, columns=not self._columns_sent)
        self._columns_sent = True
        return b'{"type":"%b","object":%b}\n' % (kind.encode(), shown) if shown is not None else b""

    def _bookmark(self, at: Revision, annotations: bytes = b"") -> bytes:
        body = b'"metadata":{"resourceVersion":"%d",%b' % (at, annotations)
        entry = Entry(self._cacher.make_entry.shape, "", body.rstrip(b",") + b"}}", at, at)
        return self._frame("BOOKMARK", entry)

    async def _error(self, error: errors.APIError) -> None:
        await self._stream.write(b'{"type":"ERROR","object":%b}\n' % orjson.dumps(error.status))
