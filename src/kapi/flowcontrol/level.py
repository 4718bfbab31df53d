"""A priority level: its part of the server's seats, what it may lend and borrow, and its queues."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from kapi.api.objects import Object
from kapi.flowcontrol.allocation import Allocation, Claim, Impossible, allocate
from kapi.flowcontrol.demand import DemandStats
from kapi.flowcontrol.metrics import FlowControlMetrics
from kapi.flowcontrol.queue_set import EXEMPT, REJECT, QueueSet, Queuing
from kapi.flowcontrol.retry_after import RetryAfter
from kapi.telemetry.log import log

# No request is estimated to take more than this part of its level.
_MOST_OF_LEVEL = 0.15


class Settings(NamedTuple):
    """What a PriorityLevelConfiguration says. Without a limit on borrowing, all of the server may be borrowed."""

    uid: str
    queuing: Queuing
    shares: int
    lendable_percent: int
    borrowing_percent: int | None

    @classmethod
    def of(cls, level: Object) -> Settings:
        spec = level["spec"]
        uid = level["metadata"].get("uid", "")
        if spec["type"] == "Exempt":
            exempt = spec.get("exempt") or {}
            shares = exempt.get("nominalConcurrencyShares", 0)
            return cls(uid, EXEMPT, shares, exempt.get("lendablePercent", 0), None)
        limited = spec["limited"]
        queuing = (limited.get("limitResponse") or {}).get("queuing")
        return cls(
            uid,
            REJECT if queuing is None else Queuing(queuing["queues"], queuing["queueLengthLimit"], queuing["handSize"]),
            limited.get("nominalConcurrencyShares", 30),
            limited.get("lendablePercent", 0),
            limited.get("borrowingLimitPercent"),
        )


class Level:
    """Lives as long as its name does, and as requests of it are under way: then it is `quiescing`."""

    def __init__(self, name: str, now: Callable[[], float], metrics: FlowControlMetrics) -> None:
        self.name = name
        self.settings = Settings("", REJECT, 0, 0, None)
        self.queues = QueueSet(name, now, metrics)
        self.stats = DemandStats()
        self.retry_after = RetryAfter()
        self.quiescing = False
        self.nominal = self.lower = self.upper = self.current = 0
        self.most_seats = 0  # that one request may be estimated to take; 0: no limit of this level

    @property
    def exempt(self) -> bool:
        return self.settings.queuing is EXEMPT

    def divide(self, total: int, shares: int) -> None:
        """Take this level's part of all seats; rounded up, so that every level with a share has a seat."""
        settings = self.settings
        self.nominal = math.ceil(total * settings.shares / shares) if shares else 0
        self.lower = self.nominal - nearest(self.nominal * settings.lendable_percent / 100)
        borrowing = settings.borrowing_percent
        self.upper = self.nominal + (total if borrowing is None else nearest(self.nominal * borrowing / 100))
        self.most_seats = 0
        if settings.queuing.queues > 0:
            part = min(math.ceil(self.nominal * _MOST_OF_LEVEL), self.nominal // settings.queuing.hand)
            self.most_seats = max(1, part)

    @property
    def least(self) -> int:
        """What it must have now: what it used lately, within what it may have and may lend."""
        high = self.stats.high if self.exempt else min(self.nominal, self.stats.high)
        return max(self.lower, high)

    @property
    def target(self) -> float:
        return max(float(self.least), self.stats.smoothed)


def nearest(value: float) -> int:
    """As Go rounds: halves away from zero."""
    return math.floor(value + 0.5)


def divide(total: int, levels: Iterable[Level]) -> None:
    """Every level's part of the server's seats, by its shares."""
    levels = list(levels)
    shares = sum(level.settings.shares for level in levels)
    for level in levels:
        level.divide(total, shares)


def adjust(levels: Mapping[str, Level], metrics: FlowControlMetrics) -> None:
    """Seats that some do not need are lent to those that do."""
    for level in levels.values():
        level.stats.update(level.queues.observed())
    limited = [level for level in levels.values() if not level.exempt]
    total = sum(level.nominal for level in levels.values())
    left = total - sum(level.least for level in levels.values() if level.exempt)
    proportion = _lend(limited, total, left)
    metrics.fair_fraction.set(proportion)
    for level in levels.values():
        if level.exempt:
            level.current = level.least
        level.queues.configure(level.settings.queuing, level.current)
        _report(level, metrics)


def _lend(limited: list[Level], total: int, left: int) -> float:
    """Decide what each has at present; the proportion between target and that."""
    lowest, least = sum(level.lower for level in limited), sum(level.least for level in limited)
    if left <= least:
        # What is exempt took so much that there is nothing to lend: the rest share what is above their lower limits.
        part = max(0, left - lowest) / (least - lowest) if least > lowest else 0.0
        for level in limited:
            level.current = level.lower + nearest((level.least - level.lower) * part)
        return 0.0
    try:
        found = allocate(total, [Claim(level.target, level.least, level.upper) for level in limited])
    except Impossible as error:
        log.warning("seats_not_divided", error=str(error))
        found = Allocation([float(level.current) for level in limited], 0.0)
    for level, share in zip(limited, found.shares, strict=True):
        level.current = nearest(share)
    return found.proportion


def _report(level: Level, metrics: FlowControlMetrics) -> None:
    stats = level.stats
    metrics.utilization.tell(level.queues, level.nominal, level.settings.queuing.room)
    for name, value in (
        ("nominal_limit_seats", level.nominal),
        ("lower_limit_seats", level.lower),
        ("upper_limit_seats", level.upper),
        ("current_limit_seats", level.current),
        ("demand_seats_high_watermark", stats.high),
        ("demand_seats_average", stats.average),
        ("demand_seats_stdev", stats.deviation),
        ("demand_seats_smoothed", stats.smoothed),
        ("target_seats", level.target),
    ):
        metrics.limits[name].set(value, (level.name,))
