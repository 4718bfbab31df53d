"""Objects in the store: what the registry reads and writes. One ObjectStore per resource.

Reads come from the cache where their resourceVersion allows, and from the engine where it does not. Writes are
optimistic: computed from the newest state known here, compared by the engine, computed again when that was stale.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal, NamedTuple, TypeAlias

from kapi.api.objects import Object, Revision
from kapi.storage import kv
from kapi.storage.cacher.cacher import Cacher, NotReady
from kapi.storage.cacher.entry import Entry
from kapi.storage.cacher.feed import CachedFeed, Feed
from kapi.storage.changes import Changes, Told
from kapi.storage.continuation import INCONSISTENT, Continuation
from kapi.storage.direct import DirectFeed

# A first read may wait this long for the cache to be filled; after that it is told to try again.
FILL_SECONDS = 5.0
_DIRECT_PAGE = 500
_LARGEST_PAGE = 10_000
_SELECTED_AT_ONCE = 1_000
_LARGEST_REVISION = (1 << 63) - 1

Selects: TypeAlias = Callable[[Entry], bool]
Entries: TypeAlias = list[Entry]


class Write(NamedTuple):
    """What a change decides: store this value."""

    value: bytes


class Remove(NamedTuple):
    """What a change decides: the object goes; this is what the caller is shown."""

    last: bytes


KEEP: Literal["keep"] = "keep"
Decision: TypeAlias = Write | Remove | Literal["keep"]
Change: TypeAlias = Callable[[Entry | None], Awaitable[Decision]]
IsStale: TypeAlias = Callable[[str], Awaitable[bool]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """A list, as its parameters say it. `exact` asks for the state at `revision`, else for one not older."""

    scope: str
    revision: Revision | None = None  # None: the newest state; 0: whatever the cache has
    exact: bool = False
    limit: int = 0
    continuation: Continuation | None = None
    selects: Selects | None = None


@dataclass(frozen=True, slots=True)
class Listing:
    entries: Entries
    revision: Revision
    continuation: Continuation | None = None
    remaining: int | None = None


class ContinuationExpired(kv.StorageError):
    """The list's revision has been compacted; `token` continues at the newest state instead."""

    def __init__(self, token: str) -> None:
        super().__init__("the continue token is too old")
        self.token = token


class ObjectStore:
    """The objects under one prefix. `ttl` is the seconds that an object lives; 0 means for good.

    `is_stale` is given where the form of stored values may change, as encryption's does: no update keeps an old one.
    `raw` is the engine below what changes values on their way in and out, if anything does; `origins` are the revisions
    of the engines when they began to be served.
    """

    def __init__(
        self,
        store: kv.KV,
        cacher: Cacher,
        *,
        ttl: int = 0,
        cached: bool = True,
        is_stale: IsStale | None = None,
        root: str = "",
        raw: kv.KV | None = None,
        origins: Mapping[kv.KV, Revision] = MappingProxyType({}),
    ) -> None:
        self._kv = store
        self._raw = raw or store
        self._origins = origins
        self.cacher = cacher
        self._ttl = ttl
        self._cached = cached
        self._is_stale = is_stale
        self._root = root

    @property
    def prefix(self) -> str:
        return self.cacher.prefix

    def encode(self, decoded: Object) -> bytes:
        return self.cacher.make_entry.encode(decoded)

    def entry(self, key: str, value: bytes, revision: Revision, created: Revision) -> Entry:
        """The entry of a value just written: the cache's own, when it has that revision already."""
        entry = self.cacher.get(key)
        if entry is not None and entry.revision == revision:
            return entry
        return self.cacher.make_entry(key, value, revision, created)

    # Writing

    async def create(self, key: str, value: bytes) -> Entry:
        revision = await self._leased(lambda lease: self._kv.create(key, value, lease=lease))
        return self.entry(key, value, revision, revision)

    async def update(self, key: str, change: Change, *, create: bool = False) -> tuple[Entry, bool]:
        """Guaranteed update: `change` sees the current entry (None if absent and `create`) and decides.

        Returns what is stored now and whether it was created. A decision made on a stale entry is made again.
        """
        current, fresh = await self._newest_known(key)
        while True:
            if current is None and not create:
                if fresh:
                    raise kv.NotFound(key)
                current, fresh = await self.stored(key), True
                continue
            try:
                decision = await change(current)
            except Exception:
                newest = current if fresh else await self.stored(key)
                if _same(newest, current):
                    raise
                current, fresh = newest, True
                continue
            if decision == KEEP and current is not None:
                newest = current if fresh else await self.stored(key)
                if not _same(newest, current):
                    current, fresh = newest, True
                    continue
                renewed = None if self._is_stale is None else await self._renewed(key, self._is_stale)
                if renewed is None:
                    return current, False
                decision = renewed
            try:
                return await self._carry_out(key, current, decision)
            except kv.Conflict as conflict:
                current, fresh = self._entry_of(conflict.current), True
            except (kv.KeyExists, kv.NotFound):
                current, fresh = await self.stored(key), True

    async def _renewed(self, key: str, is_stale: IsStale) -> Write | None:
        """What is stored, to be written once more, if its form is an old one."""
        if not await is_stale(key):
            return None
        found, _ = await self._kv.get(key)
        return Write(found.value) if found is not None else None

    async def _carry_out(self, key: str, current: Entry | None, decision: Decision) -> tuple[Entry, bool]:
        if current is None:
            assert isinstance(decision, Write), "what is not there can only be created"
            return await self.create(key, decision.value), True
        if isinstance(decision, Remove):
            await self._kv.delete(key, current.revision)
            return self.cacher.make_entry(key, decision.last, current.revision, current.created), False
        assert isinstance(decision, Write)
        value, expected = decision.value, current.revision
        revision = await self._leased(lambda lease: self._kv.update(key, value, expected, lease=lease))
        return self.entry(key, value, revision, current.created), False

    async def _leased(self, write: Callable[[int], Awaitable[Revision]]) -> Revision:
        """Write with a lease where objects expire; a shared one may end between its grant and its use."""
        if not self._ttl:
            return await write(0)
        try:
            return await write(await self._kv.grant(self._ttl))
        except kv.LeaseNotFound:
            return await write(await self._kv.grant(self._ttl))

    async def delete(self, key: str, check: Callable[[Entry], None]) -> Entry:
        """Remove the key if `check` does not object to its newest state; the last state, at the delete's revision."""
        current, fresh = await self._newest_known(key)
        while True:
            if current is None:
                if fresh:
                    raise kv.NotFound(key)
                current, fresh = await self.stored(key), True
                continue
            try:
                check(current)
            except Exception:
                newest = current if fresh else await self.stored(key)
                if _same(newest, current):
                    raise
                current, fresh = newest, True
                continue
            try:
                revision, _ = await self._kv.delete(key, current.revision)
                return current.at(revision)
            except kv.Conflict as conflict:
                current, fresh = self._entry_of(conflict.current), True

    async def discard(self, key: str, *, dry_run: bool) -> None:
        """Remove what cannot be read; Readable when it can be."""
        while True:
            found, _ = await self._raw.get(key)
            if found is None:
                raise kv.NotFound(key)
            with suppress(kv.Corrupt):
                if await self.stored(key) is None:
                    continue
                raise kv.Readable(key)
            if dry_run:
                return
            with suppress(kv.Conflict):
                await self._raw.delete(key, found.revision)
                return

    async def _newest_known(self, key: str) -> tuple[Entry | None, bool]:
        """The entry from the cache, and whether it is sure to be the newest."""
        if self._cached:
            try:
                await self.cacher.started(FILL_SECONDS)
                return self.cacher.get(key), self._kv.in_step
            except NotReady:
                pass
        return await self.stored(key), True

    async def stored(self, key: str) -> Entry | None:
        """The object as the engine has it now: no cache is filled for it."""
        return (await self._fetch(key))[0]

    async def _fetch(self, key: str) -> tuple[Entry | None, Revision]:
        """As upstream, who is told of a single object that cannot be read is not told the root of all keys."""
        try:
            found, newest = await self._kv.get(key)
            return self._entry_of(found) if found else None, newest
        except kv.Corrupt as error:
            error.root = self._root
            raise

    def _entries_of(self, items: Sequence[kv.KeyValue]) -> Entries:
        try:
            return [self._entry_of(item) for item in items]
        except kv.Corrupt as error:
            raise kv.CorruptObjects([error]) from None

    def _entry_of(self, item: kv.KeyValue) -> Entry:
        return self.cacher.make_entry(item.key, item.value, item.revision, item.created)

    # Reading

    async def get(self, key: str, revision: Revision | None) -> Entry | None:
        """The object; at a state not older than `revision`, or the newest when that is None."""
        if self._cached and (revision is not None or self._kv.in_step):
            cacher = self.cacher
            try:
                if not cacher.ready:
                    await cacher.started(FILL_SECONDS)
                if revision:
                    await cacher.wait_until(revision)
                return cacher.get(key)
            except (NotReady, kv.FutureRevision):
                pass  # the store knows better
        entry, newest = await self._fetch(key)
        if revision and revision > newest:
            raise kv.FutureRevision(newest)
        return entry

    async def list(self, query: Query) -> Listing:
        if query.continuation is not None:
            return await self._list_on(query, query.continuation)
        if query.revision and query.exact:
            return await self._list_at(query, query.revision, "")
        if self._cached and await self._cache_answers(query):
            return await self._list_cached(query, self.cacher.revision)
        return await self._list_at(query, kv.NO_REVISION, "", at_least=query.revision or kv.NO_REVISION)

    async def _cache_answers(self, query: Query) -> bool:
        """Whether the cache can answer: it is filled, and has come up to what the query asks for."""
        try:
            await self.cacher.started(FILL_SECONDS)
            if query.revision is None:
                return await self.catch_up()
            await self.cacher.wait_until(query.revision)
        except NotReady:
            # As upstream: what is cheap for the store goes to it, the rest waits for the cache. Where that cannot be
            # filled there is nothing to wait for, and the store says why.
            if (not query.limit or query.selects is not None) and not self.cacher.unreadable:
                raise
            return False
        except kv.FutureRevision:
            return False
        return True

    async def catch_up(self) -> bool:
        """Bring the cache to the store's newest state; whether that could be done in time."""
        if self._kv.in_step:
            return True
        if not self._kv.supports_progress:
            return False
        try:
            await self.cacher.wait_until(await self._kv.revision())
        except kv.FutureRevision:
            return False
        return True

    async def count(self) -> int:
        """How many objects there are: as many as the cache holds, or the store."""
        return len(self.cacher) if self._cached and self.cacher.ready else await self._kv.count(self.prefix)

    async def feed(self, scope: str, *, newest: bool, after: Revision | None = None) -> Feed:
        """Where a watch takes its events from; `newest` when it must begin with the store's newest state."""
        if self._cached:
            try:
                await self.cacher.started(FILL_SECONDS)
                if not self._precedes_cache(after) and (not newest or await self.catch_up()):
                    return CachedFeed(self.cacher, scope)
            except NotReady:
                if not self.cacher.unreadable:
                    raise
        return DirectFeed(self._kv, self.cacher.make_entry, scope)

    def _precedes_cache(self, after: Revision | None) -> bool:
        """Whether only the engine knows what came after: the cache was filled since, when it was first asked for."""
        if not after or self.cacher.fills != 1 or after >= self.cacher.window.floor:
            return False
        origin = self._origins.get(self._raw)
        return origin is not None and origin <= after and not self.cacher.window.trimmed

    def changes(self, scope: str, told: Told, began: Callable[[], None]) -> Changes:
        """Every change of a key, or below a prefix, by the bytes that are stored: no cache is filled for it."""
        return Changes(self._kv, scope, told, began)

    async def _list_on(self, query: Query, continuation: Continuation) -> Listing:
        start = query.scope + continuation.start
        if continuation.revision == INCONSISTENT:
            return await self._list_at(query, kv.NO_REVISION, start)
        try:
            return await self._list_at(query, continuation.revision, start)
        except kv.Compacted:
            raise ContinuationExpired(Continuation(continuation.start, INCONSISTENT).encode()) from None

    async def _list_at(
        self, query: Query, revision: Revision, start: str, *, at_least: Revision = kv.NO_REVISION
    ) -> Listing:
        """The state at one revision: from the cache when nothing has changed since, else from the engine."""
        cacher = self.cacher
        if revision > _LARGEST_REVISION or at_least > _LARGEST_REVISION:
            raise kv.FutureRevision(await self._kv.revision())
        if self._cached and cacher.ready and revision and cacher.changed <= revision <= cacher.revision:
            return await self._list_cached(query, revision, start)
        if not query.scope.endswith("/"):
            return await self._one_at(query, revision, at_least)
        limit, size = query.limit, query.limit or _DIRECT_PAGE
        found: Entries = []
        while True:
            page = await self._kv.range(query.scope, start=start, limit=size, revision=revision)
            revision = page.revision
            if revision < at_least:
                raise kv.FutureRevision(revision)
            entries = self._entries_of(page.items)
            taken, left = _take(entries, query.selects, limit and limit - len(found))
            found += taken
            if limit and len(found) == limit:
                return _listing(query, found, revision, left=left + page.count - len(page.items))
            if not page.more:
                return _listing(query, found, revision)
            start = page.items[-1].key + "\0"
            size = min(2 * size, _LARGEST_PAGE)  # as upstream: a selector that takes little needs few round trips

    async def _list_cached(self, query: Query, revision: Revision, start: str = "") -> Listing:
        cacher, limit = self.cacher, query.limit
        if limit and query.selects is None and query.scope.endswith("/"):
            left = max(cacher.count(query.scope, start) - limit, 0)
            return _listing(query, cacher.select(query.scope, start, limit), revision, left=left)
        return await _page(query, cacher.select(query.scope, start), revision)

    async def _one_at(self, query: Query, revision: Revision, at_least: Revision) -> Listing:
        """A list of one key, if it is there."""
        found, newest = await self._kv.get(query.scope, revision)
        if newest < at_least:
            raise kv.FutureRevision(newest)
        entries = [self._entry_of(found)] if found else []
        return await _page(query, entries, revision or newest)


async def _page(query: Query, entries: Entries, revision: Revision) -> Listing:
    if query.selects is None or len(entries) <= _SELECTED_AT_ONCE:
        taken, left = _take(entries, query.selects, query.limit)
        return _listing(query, taken, revision, left=left)
    found: Entries = []
    for start in range(0, len(entries), _SELECTED_AT_ONCE):
        some = entries[start : start + _SELECTED_AT_ONCE]
        taken, left = _take(some, query.selects, query.limit and query.limit - len(found))
        found += taken
        if query.limit and len(found) == query.limit:
            return _listing(query, found, revision, left=left + len(entries) - start - len(some))
        await asyncio.sleep(0)  # a first look at labels decodes each object
    return _listing(query, found, revision)


def _take(entries: Entries, selects: Selects | None, limit: int) -> tuple[Entries, int]:
    """The first so many that are selected (0: all), and how many entries follow that were not looked at."""
    if selects is None:
        return (entries[:limit], max(len(entries) - limit, 0)) if limit else (entries, 0)
    if not limit:
        return [entry for entry in entries if selects(entry)], 0
    taken: Entries = []
    for position, entry in enumerate(entries, 1):
        if selects(entry):
            taken.append(entry)
            if len(taken) == limit:
                return taken, len(entries) - position
    return taken, 0


def _listing(query: Query, found: Entries, revision: Revision, left: int = 0) -> Listing:
    """As upstream: what follows a full page may turn out to be nothing that is selected."""
    if not left:
        return Listing(found, revision)
    continuation = Continuation(found[-1].key[len(query.scope) :] + "\0", revision)
    return Listing(found, revision, continuation, left if query.selects is None else None)


def _same(one: Entry | None, other: Entry | None) -> bool:
    return (one and one.revision) == (other and other.revision)
