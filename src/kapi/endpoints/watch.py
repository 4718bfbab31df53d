"""Watch: initial state, what was missed, then every event as it is committed.

No watcher has a queue. Live, an event's frame is written into the stream by the commit itself; a watcher whose peer is
slow is detached and catches up from the feed's history when it can take more, or ends when that has moved on.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from contextlib import suppress
from typing import NamedTuple

import orjson

from kapi.api import errors
from kapi.api.call import Call
from kapi.api.objects import Revision
from kapi.endpoints.endpoint import Endpoint
from kapi.endpoints.negotiate import PROTOBUF, Form
from kapi.endpoints.params import ListOptions, list_options, revision
from kapi.endpoints.reading import narrowed_scope, selects
from kapi.endpoints.render import include_object
from kapi.endpoints.respond import written
from kapi.registry.translate import storage_errors, too_large_resource_version, unreadable
from kapi.schema.compile import zero
from kapi.storage import kv
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.feed import Feed, TooOld
from kapi.storage.cacher.window import CacheEvent
from kapi.wire.messages import BodyStream, ClientGone, Response

# A peer that has not taken this much is slow.
LAG_BYTES = 1 << 20
CATCH_UP_EVENTS = 500
BOOKMARK_SECONDS = 60.0
# A last bookmark this long before the watch times out, as upstream.
FAREWELL_SECONDS = 2.0
_BINARY_STREAM = f"{PROTOBUF};stream=watch".encode()


async def watch(call: Call, endpoint: Endpoint) -> Response:
    endpoint.form(call, listed=True)
    options = list_options(call, endpoint.resource, watch=True)
    wanted = revision(options.resource_version)
    form = endpoint.stream_form(call)
    if form.transform == "Table":
        include_object(call)
    scope, fields = narrowed_scope(call, endpoint, options.fields)
    objects = endpoint.store.objects
    with storage_errors(endpoint.resource.group_resource):
        newest = wanted is None and options.initial_events is True
        feed = await objects.feed(scope, newest=newest, after=wanted)
    watching = Watching(call, endpoint, form, options, feed)
    watching.scope = scope
    watching.selects = selects(options, fields)
    watching.wanted = wanted
    content_type = _BINARY_STREAM if form.media_type == PROTOBUF else b"application/json"
    return Response(200, [(b"content-type", content_type)], stream=watching.run)


class Ending(NamedTuple):
    """Why the live part of a watch is over: the peer is slow, something failed, or (neither) there is no more."""

    slow: bool = False
    error: Exception | None = None


class Watching:
    """One watch request, from its first byte to its last. It is its feed's Watcher while it is live."""

    def __init__(self, call: Call, endpoint: Endpoint, form: Form, options: ListOptions, feed: Feed) -> None:
        self.scope = ""
        self.selects: Callable[[Entry], bool] | None = None
        self.wanted: Revision | None = None
        self._call = call
        self._endpoint = endpoint
        self._feed = feed
        self._form = form
        self._options = options
        self._position = kv.NO_REVISION
        self._columns_sent = False
        self._zero: bytes | None = None
        self._stream: BodyStream
        self._stopped: asyncio.Future[Ending] | None = None

    async def run(self, stream: BodyStream) -> None:
        self._stream = stream
        self._call.request.on_disconnect(lambda: self._stop(Ending()))
        loop = asyncio.get_running_loop()
        self._deadline = loop.time() + self._seconds()
        try:
            async with asyncio.timeout_at(self._deadline):
                await self._begin()
                self._call.initialized()
                while True:
                    await self._catch_up()
                    if not await self._live():
                        return
        except (TimeoutError, ClientGone):
            return
        except TooOld as too_old:
            await self._error(_expired(self._position, too_old))
        except kv.FutureRevision as future:
            await self._error(too_large_resource_version(self.wanted or 0, future.current))
        except kv.Corrupt as error:
            await self._error(errors.InternalError(str(error)))
        except kv.CorruptObjects as error:
            await self._error(unreadable(self._endpoint.resource.group_resource, error))
        except kv.StorageError:
            return  # the client comes again from where it was

    def _seconds(self) -> float:
        """As asked, or at random so that watches do not all end together."""
        asked = self._options.timeout
        if asked is not None and asked > 0:
            return float(asked)
        return self._endpoint.limits.min_watch_seconds * (random.random() + 1.0)

    # The beginning

    async def _begin(self) -> None:
        """Send the initial state if it is wanted, and take a position."""
        initial = self._options.initial_events
        if initial or (not self.wanted and initial is None):
            await self._initial_state()
        else:
            self._position = self.wanted or await self._feed.now()

    async def _initial_state(self) -> None:
        entries, self._position = await self._feed.state(self.wanted or kv.NO_REVISION)
        for start in range(0, len(entries), CATCH_UP_EVENTS):
            some = entries[start : start + CATCH_UP_EVENTS]
            frames = [self._frame("ADDED", entry) for entry in some if self.selects is None or self.selects(entry)]
            await self._stream.write(b"".join(frames))
            await asyncio.sleep(0)
        if self._options.bookmarks:
            end = b'"annotations":{"k8s.io/initial-events-end":"true"},'
            await self._stream.write(self._bookmark(self._position, end))

    # Behind

    async def _catch_up(self) -> None:
        """Send what is at hand later than our position; raises TooOld."""
        while events := self._feed.missed(self._position, CATCH_UP_EVENTS):
            frames = [
                self._render(e, shared=False) for e in events if self._in_scope(e) and e.revision > self._position
            ]
            self._position = max(self._position, events[-1].revision)
            await self._stream.write(b"".join(frames))

    def _in_scope(self, event: CacheEvent) -> bool:
        key = event.key
        return key.startswith(self.scope) if self.scope.endswith("/") else key == self.scope

    # Live

    async def _live(self) -> bool:
        """Take events as they come until the peer is slow (True) or the watch is over (False)."""
        loop = asyncio.get_running_loop()
        self._stopped = loop.create_future()
        if self._stream.closed:
            return False
        self._feed.attach(self, self._position)
        try:
            while True:
                await asyncio.wait((self._stopped,), timeout=self._until_bookmark(loop.time()))
                if self._stopped.done():
                    break
                if self._options.bookmarks:
                    self._stream.write_nowait(self._bookmark(max(self._feed.revision, self._position)))
                    self._feed.request_progress()
        finally:
            self._feed.detach(self)
        ending = self._stopped.result()
        if ending.error is not None:
            raise ending.error
        if ending.slow:
            await self._stream.write(b"")
        return ending.slow

    def _until_bookmark(self, now: float) -> float:
        farewell = self._deadline - FAREWELL_SECONDS - now
        return min(BOOKMARK_SECONDS, farewell) if farewell > 0 else BOOKMARK_SECONDS

    def deliver(self, event: CacheEvent) -> None:
        if event.revision <= self._position:
            return
        self._position = event.revision
        try:
            frame = self._render(event, shared=True)
        except Exception as error:
            # What cannot be shown to one watcher must reach neither the others nor the commit that tells them all.
            self._leave(Ending(error=error))
            return
        if frame:
            stream = self._stream
            stream.write_nowait(frame)
            if stream.buffered > LAG_BYTES:
                self._leave(Ending(slow=True))

    def ended(self, error: kv.StorageError | None) -> None:
        self._stop(Ending(error=error))

    def _leave(self, ending: Ending) -> None:
        self._feed.detach(self)
        self._stop(ending)

    def _stop(self, ending: Ending) -> None:
        if self._stopped is not None and not self._stopped.done():
            self._stopped.set_result(ending)

    # Frames

    def _render(self, event: CacheEvent, *, shared: bool) -> bytes:
        """The event's frame, `shared` with all watchers that see it alike; empty when this one does not see it."""
        kind = event.seen_by(self.selects)
        if not kind:
            return b""
        if not shared or self._form.transform == "Table":
            return self._frame(kind, event.shown_as(kind))
        frames = event.frames
        if frames is None:
            frames = event.frames = {}
        key = (kind, self._form)
        frame = frames.get(key)
        if frame is None:
            frame = frames[key] = self._frame(kind, event.shown_as(kind))
        return frame

    def _frame(self, kind: str, entry: Entry) -> bytes:
        shown = self._endpoint.renderer.event(self._call, entry, self._form, columns=not self._columns_sent)
        self._columns_sent = True
        return self._event(kind, shown) if shown is not None else b""

    def _event(self, kind: str, shown: bytes) -> bytes:
        if self._form.media_type != PROTOBUF:
            return b'{"type":"%b","object":%b}\n' % (kind.encode(), shown)
        from kapi.codec.protobuf import watch_frame  # loaded with the first protobuf answer

        return watch_frame(kind, shown)

    def _bookmark(self, at: Revision, annotations: bytes = b"") -> bytes:
        metadata = b'"metadata":{"resourceVersion":"%d",%b' % (at, annotations)
        if self._zero is None:
            self._zero = _zero_fields(self._endpoint)
        body = metadata.rstrip(b",") + b"}" + self._zero
        shape = self._endpoint.store.objects.cacher.make_entry.shape
        return self._frame("BOOKMARK", Entry(shape, "", body, at, at))

    async def _error(self, error: errors.APIError) -> None:
        with suppress(ClientGone):
            await self._stream.write(self._event("ERROR", written(error.status, self._form)))


def _zero_fields(endpoint: Endpoint) -> bytes:
    """What follows the metadata of an object without content, up to its last brace: Go writes some fields always."""
    if endpoint.resource.untyped is not None:
        return b"}"  # a custom resource has no type that could have a zero value
    fields = {name: value for name, value in zero(endpoint.resource.schema).items() if name != "metadata"}
    return b"," + orjson.dumps(fields)[1:] if fields else b"}"


def _expired(position: Revision, too_old: TooOld) -> errors.Expired:
    if too_old.floor is None:
        return errors.Expired("The resourceVersion for the provided watch is too old.")
    return errors.Expired(f"too old resource version: {position} ({too_old.floor})")
