"""The key index: which revision of which key is the answer, now and at every revision that is still kept.

A key maps to the revision of its newest write, negative when that was a delete; earlier ones are in a list that only
keys with a history have. So 100,000 quiet keys cost a string and an integer each. Values are in the log.
Which keys changed since a revision is kept in order, so that looking back costs as much as has happened since.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator

from kapi.api.objects import Revision
from kapi.storage.kv import Compacted, FutureRevision, prefix_end
from kapi.storage.mvcc.sorted_keys import SortedKeys

FIRST_REVISION = 1  # as in etcd: an empty store is at revision 1
_KEYS_PER_SLICE = 2000
_CHANGES_PER_SLICE = 20_000


class KeyIndex:
    def __init__(self) -> None:
        self.revision = FIRST_REVISION
        self.compacted = 0
        self.heads: dict[str, int] = {}
        self._older: dict[str, list[int]] = {}
        self._live = SortedKeys()
        self._dead = SortedKeys()  # deleted, not yet compacted: they still have a past
        self._changed_at: list[int] = []  # every revision after the compacted one, and beside it its key
        self._changed: list[str] = []

    def load(self, writes: Iterable[tuple[int, str]], *, revision: int, compacted: int) -> None:
        """Fill from all kept (signed revision, key), in revision order."""
        heads, older = self.heads, self._older
        newest = 0
        for newest, key in writes:
            if key in heads:
                older.setdefault(key, []).append(heads[key])
            heads[key] = newest
            if abs(newest) > compacted:
                self._changed_at.append(abs(newest))
                self._changed.append(key)
        dead = [key for key, head in heads.items() if head < 0]
        self._live = SortedKeys(heads.keys() - set(dead) if dead else heads)
        self._dead = SortedKeys(dead)
        self.revision = max(revision, abs(newest), FIRST_REVISION)
        self.compacted = compacted

    def put(self, key: str, revision: int, *, deleted: bool) -> None:
        """Record a committed write; the caller has compared."""
        head = self.heads.get(key, 0)
        if head:
            self._older.setdefault(key, []).append(head)
        if deleted:
            self._live.remove(key)
            self._dead.add(key)
        elif head <= 0:
            self._live.add(key)
            if head:
                self._dead.remove(key)
        self.heads[key] = -revision if deleted else revision
        self._changed_at.append(revision)
        self._changed.append(key)
        self.revision = revision

    def compact(self, revision: int) -> None:
        """From now on nothing before that revision is answered; `garbage` then finds what nobody can ask for."""
        if revision > self.compacted:
            self.compacted = revision
            gone = bisect_right(self._changed_at, revision)
            del self._changed_at[:gone], self._changed[:gone]

    def live_keys(self) -> int:
        return len(self._live)

    def check(self, revision: int) -> None:
        if revision > self.revision:
            raise FutureRevision(Revision(self.revision))
        if revision < self.compacted:
            raise Compacted(Revision(self.compacted))

    def at(self, key: str, revision: int = 0) -> int:
        """The revision of the write that made the key what it is (at that revision, or now); 0 when it is not there."""
        head = self.heads.get(key, 0)
        if not revision:
            return max(head, 0)
        self.check(revision)
        return max(head if abs(head) <= revision else self._before(key, revision), 0)

    def range(self, prefix: str, start: str = "", limit: int = 0, revision: int = 0) -> tuple[list[int], int]:
        """The revisions that answer a range, in key order, and how many keys there are without the limit."""
        low, high = max(prefix, start), prefix_end(prefix)
        if not revision or revision == self.revision:
            keys = self._live.between(low, high, limit)
            return [self.heads[key] for key in keys], self._live.count(low, high) if limit else len(keys)
        self.check(revision)
        since = bisect_right(self._changed_at, revision)
        if len(self._changed) - since > self._live.count(low, high):
            return self._walk_back(low, high, limit, revision)
        changed = {key for key in self._changed[since:] if low <= key < high}
        then = {key: before for key in changed if (before := self._before(key, revision)) > 0}
        count = self._live.count(low, high) - sum(self.heads[key] > 0 for key in changed) + len(then)
        keys = self._live.between(low, high, limit + len(changed) if limit else 0)
        keys = sorted([key for key in keys if key not in changed] + list(then))
        return [then.get(key) or self.heads[key] for key in (keys[:limit] if limit else keys)], count

    def count(self, prefix: str) -> int:
        return self._live.count(prefix, prefix_end(prefix))

    def changes(self, prefix: str, after: int) -> tuple[list[int], int]:
        """Revisions later than `after` of keys with that prefix, in order, and up to which revision those are all."""
        first = bisect_right(self._changed_at, after)
        last = first + _CHANGES_PER_SLICE
        keys, revisions = self._changed[first:last], self._changed_at[first:last]
        found = [revision for revision, key in zip(revisions, keys, strict=True) if key.startswith(prefix)]
        return found, revisions[-1] if last < len(self._changed) else self.revision

    def garbage(self, compacted: int, limit: int) -> Iterator[list[int]]:
        """Drop what that compaction made unreachable, and yield its revisions, at most `limit` at once, perhaps none.

        Between two yields the index may be read and written.
        """
        found: list[int] = []
        for visited, key in enumerate([*self._older, *(key for key in self._dead if key not in self._older)], 1):
            found += self._forget(key, compacted)
            while len(found) >= limit:
                yield found[:limit]
                del found[:limit]
            if visited % _KEYS_PER_SLICE == 0:
                yield found
                found = []
        yield found

    def _walk_back(self, low: str, high: str, limit: int, revision: int) -> tuple[list[int], int]:
        """A range at a revision since which more has happened than there are keys."""
        keys = self._live.between(low, high)
        if dead := self._dead.between(low, high):
            keys = sorted(keys + dead)
        found = []
        for key in keys:
            head = self.heads[key]
            if abs(head) > revision:
                head = self._before(key, revision)
            if head > 0:
                found.append(head)
        return found[:limit] if limit else found, len(found)

    def _before(self, key: str, revision: int) -> int:
        older = self._older.get(key, ())
        at = bisect_right(older, revision, key=abs)
        return older[at - 1] if at else 0

    def _forget(self, key: str, compacted: int) -> list[int]:
        head = self.heads.get(key, 0)
        older = self._older.get(key, [])
        if head and abs(head) <= compacted:
            self._older.pop(key, None)
            gone = [abs(revision) for revision in older]
            if head < 0:
                gone.append(-head)
                del self.heads[key]
                self._dead.remove(key)
            return gone
        at = bisect_right(older, compacted, key=abs)
        if at and older[at - 1] > 0:
            at -= 1  # still the answer at the compacted revision
        gone = [abs(revision) for revision in older[:at]]
        del older[:at]
        if not older:
            self._older.pop(key, None)
        return gone
