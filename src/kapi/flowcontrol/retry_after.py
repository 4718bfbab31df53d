"""Retry-After: refused clients stay away the longer, the more were refused lately."""

from __future__ import annotations

from collections import deque

LONGEST = 32


class RetryAfter:
    """For one priority level: doubled while many are refused, less by one when few are. As upstream, as TCP."""

    def __init__(self) -> None:
        self.seconds = 1
        self._history: deque[tuple[int, int]] = deque()  # a second, and how many were refused in it
        self._second = self._raised = 0
        self._refused = 0

    def refused(self, now: float) -> None:
        second = int(now)
        if second == self._second:
            self._refused += 1
            return
        self._history.append((self._second, self._refused))
        while self._second - self._history[0][0] > min(2 * self.seconds, LONGEST):
            self._history.popleft()
        self._second, self._refused = second, 1
        self._adjust(second)

    def _adjust(self, second: int) -> None:
        lately = sum(count for when, count in self._history if second - when <= self.seconds)
        if second - self._raised >= self.seconds and lately >= 3 * self.seconds:
            self.seconds = min(2 * self.seconds, LONGEST)
            self._raised = second
        elif lately < self.seconds and self.seconds > 1:
            self.seconds -= 1
