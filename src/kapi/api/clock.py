"""The clock, injected wherever time is told, so that it can be set."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from functools import lru_cache
from typing import Protocol


class Clock(Protocol):
    def now(self) -> float:
        """Seconds since the epoch."""

    def monotonic(self) -> float:
        """Seconds that never go back."""


class SystemClock:
    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)


def rfc3339(seconds: float) -> str:
    """As metav1.Time prints it: whole seconds, UTC."""
    return _rfc3339(int(seconds))


@lru_cache(maxsize=8)  # every write of one second prints the same
def _rfc3339(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def rfc3339_micro(seconds: float) -> str:
    """As metav1.MicroTime prints it."""
    whole, fraction = divmod(int(seconds * 1_000_000), 1_000_000)
    return f"{_rfc3339(whole)[:-1]}.{fraction:06d}Z"
