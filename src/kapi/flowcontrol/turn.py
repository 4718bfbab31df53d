"""Turns: how many requests a priority level may start at once before others get a word in.

Seats count what waits: for a body, a commit, a slow reader. A flood of requests that never wait takes no seats for
long; it takes the event loop. So what comes beyond this many within a moment waits for the loop's next turn in its
flow's queue, where the others' requests come before the flood's.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

STARTS = 32
SECONDS = 0.004  # about what so many cheap requests take


class Turn:
    """Of one queue set. `again` is called in the loop's next turn when a start had to be put off."""

    def __init__(self, again: Callable[[], None]) -> None:
        self._again = again
        self._ends = 0.0
        self._left = 0
        self._put_off = False

    def take(self, now: float) -> bool:
        """Whether one more may start now."""
        if now >= self._ends:
            self._ends = now + SECONDS
            self._left = STARTS
        if self._left:
            self._left -= 1
            return True
        if not self._put_off:
            try:
                loop = asyncio.get_running_loop()
            except RuntimeError:
                return True  # nothing turns, so there is nobody to wait for
            self._put_off = True
            loop.call_soon(self._next)
        return False

    def _next(self) -> None:
        """The loop has come around: whoever was ready has had its chance to be heard."""
        self._put_off = False
        self._ends = 0.0
        self._again()
