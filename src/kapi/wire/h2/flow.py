"""Receiving: how much the peer may still send, and how much nonsense it may send."""

from __future__ import annotations

from kapi.wire.h2.frames import (
    DEFAULT_WINDOW,
    ENHANCE_YOUR_CALM,
    FLOW_CONTROL_ERROR,
    ConnectionFault,
    window_frame,
)


class ReceiveWindow:
    """The connection's window. Credit is given back in quarters, not frame by frame."""

    __slots__ = ("_left", "_owed", "_size")

    def __init__(self, size: int) -> None:
        self._size = self._left = max(size, DEFAULT_WINDOW)
        self._owed = 0

    def opening(self) -> bytes:
        """The frame that raises the window from its initial size."""
        more = self._size - DEFAULT_WINDOW
        return window_frame(0, more) if more else b""

    def take(self, size: int) -> None:
        self._left -= size
        if self._left < 0:
            raise ConnectionFault(FLOW_CONTROL_ERROR)

    def give_back(self, size: int) -> bytes:
        """These bytes are dealt with; returns the frame to send, often none."""
        self._owed += size
        if self._owed < self._size >> 2:
            return b""
        owed, self._owed = self._owed, 0
        self._left += owed
        return window_frame(0, owed)


class Allowance:
    """How often something cheap for the peer and dear for us may happen: a burst, then a rate."""

    __slots__ = ("_burst", "_left", "_rate", "_since")

    def __init__(self, *, burst: int, per_second: int, now: float) -> None:
        self._burst = float(burst)
        self._rate = per_second
        self._left = float(burst)
        self._since = now

    def spend(self, now: float) -> None:
        if self._left < 1 and now > self._since:
            self._left = min(self._burst, self._left + (now - self._since) * self._rate)
            self._since = now
        self._left -= 1
        if self._left < 0:
            raise ConnectionFault(ENHANCE_YOUR_CALM)
