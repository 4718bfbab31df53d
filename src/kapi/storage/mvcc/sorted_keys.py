"""Keys in byte order, in short runs: adding one to 100,000 moves a few hundred pointers, a count adds up lengths."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Iterator

_RUN = 512


class SortedKeys:
    """Code point order is UTF-8 byte order, so plain string comparison is the store's order."""

    def __init__(self, keys: Iterable[str] = ()) -> None:
        ordered = sorted(keys)
        self._runs = [ordered[i : i + _RUN] for i in range(0, len(ordered), _RUN)]
        self._last = [run[-1] for run in self._runs]
        self._size = len(ordered)

    def __len__(self) -> int:
        return self._size

    def __iter__(self) -> Iterator[str]:
        for run in self._runs:
            yield from run

    def add(self, key: str) -> None:
        """Add a key that is not there."""
        self._size += 1
        at = bisect_left(self._last, key)
        if at == len(self._runs):
            if not at:
                self._runs.append([key])
                self._last.append(key)
                return
            at -= 1
        run = self._runs[at]
        insort(run, key)
        if len(run) > 2 * _RUN:
            self._runs.insert(at + 1, run[_RUN:])
            del run[_RUN:]
            self._last.insert(at, run[-1])
            at += 1
        self._last[at] = self._runs[at][-1]

    def remove(self, key: str) -> None:
        """Remove a key that is there."""
        self._size -= 1
        at = bisect_left(self._last, key)
        run = self._runs[at]
        del run[bisect_left(run, key)]
        if run:
            self._last[at] = run[-1]
        else:
            del self._runs[at], self._last[at]

    def count(self, low: str, high: str) -> int:
        """How many keys are in [low, high)."""
        if high <= low:
            return 0
        first, last = bisect_left(self._last, low), bisect_left(self._last, high)
        total = sum(map(len, self._runs[first:last]))
        if last < len(self._runs):
            total += bisect_left(self._runs[last], high)
        if first < len(self._runs):
            total -= bisect_left(self._runs[first], low)
        return total

    def between(self, low: str, high: str, limit: int = 0) -> list[str]:
        """The keys in [low, high), the first `limit` of them if there is one."""
        found: list[str] = []
        if high <= low:
            return found
        first = bisect_left(self._last, low)
        last = bisect_right(self._last, high)
        for at in range(first, min(last + 1, len(self._runs))):
            run = self._runs[at]
            start = bisect_left(run, low) if at == first else 0
            stop = len(run) if run[-1] < high else bisect_left(run, high)
            found += run[start:stop]
            if limit and len(found) >= limit:
                return found[:limit]
        return found
