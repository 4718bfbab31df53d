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

    __slots__ = ("_began", "_squares", "_sum", "high")

    def __init__(self, now: float) -> None:
        self.high = 0
        self._began = now
        self._sum = self._squares = 0.0

    def add(self, value: int, seconds: float) -> None:
        """It was `value` for that long."""
        area = value * seconds
        self._sum += area
        self._squares += value * area

    def read(self, value: int, now: float) -> Observed:
        """What was observed since the last time; it begins anew with `value`."""
        seconds, high = now - self._began, self.high
        average = deviation = 0.0
        if seconds > 0:
            average = self._sum / seconds
            deviation = math.sqrt(max(0.0, self._squares / seconds - average * average))
        self._began = now
        self._sum = self._squares = 0.0
        self.high = value
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
