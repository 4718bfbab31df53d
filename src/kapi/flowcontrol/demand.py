"""Demand: how many seats a priority level could have used, over time."""

from __future__ import annotations

import math
from typing import NamedTuple

# Half of a past demand is forgotten after five minutes of adjustments every ten seconds, as upstream.
_SMOOTHING = 0.977


class Observed(NamedTuple):
    seconds: float
    average: float
    deviation: float
    high: float


class Demand:
    """The integral of a number that changes, since it was last read."""

    __slots__ = ("_at", "_began", "_high", "_squares", "_sum", "_value")

    def __init__(self, now: float) -> None:
        self._value = 0
        self._high = 0
        self._at = self._began = now
        self._sum = self._squares = 0.0

    def set(self, value: int, now: float) -> None:
        area = self._value * (now - self._at)
        self._sum += area
        self._squares += self._value * area
        self._at = now
        self._value = value
        if value > self._high:
            self._high = value

    def read(self, now: float) -> Observed:
        """What was observed since the last time; it begins anew."""
        self.set(self._value, now)
        seconds, high = now - self._began, self._high
        average = deviation = 0.0
        if seconds > 0:
            average = self._sum / seconds
            deviation = math.sqrt(max(0.0, self._squares / seconds - average * average))
        self._began = now
        self._sum = self._squares = 0.0
        self._high = self._value
        return Observed(seconds, average, deviation, high)


class DemandStats:
    """The last observation, and a figure that follows demand up at once and down slowly."""

    __slots__ = ("average", "deviation", "high", "smoothed")

    def __init__(self) -> None:
        self.high = 0
        self.average = self.deviation = self.smoothed = 0.0

    def update(self, observed: Observed) -> None:
        self.high = round(observed.high)
        if observed.seconds <= 0:
            return
        self.average, self.deviation = observed.average, observed.deviation
        envelope = observed.average + observed.deviation
        self.smoothed = max(envelope, _SMOOTHING * self.smoothed + (1 - _SMOOTHING) * envelope)
