"""How much of what goes to a sink at once: plain values, which the flags are read into."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Batching:
    """`max_wait` is for batches that are not full. `qps` and `burst` throttle batches; 0 is no throttle."""

    buffer_size: int
    max_size: int
    max_wait: float
    qps: float = 0.0
    burst: int = 0
    concurrent: bool = False  # whether the next batch is sent while one is under way


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """In bytes."""

    max_event: int
    max_batch: int
