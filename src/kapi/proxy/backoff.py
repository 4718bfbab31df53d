"""Asking a webhook again: when its answer says that it could not answer now, after a while that grows.

A webhook may name the while itself.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from kapi.proxy.reviews import ReviewError

T = TypeVar("T")
# Too many requests, an internal error, a time-out behind the webhook: these pass.
_PASSING = frozenset({429, 500, 504})


@dataclass(frozen=True, slots=True, kw_only=True)
class Backoff:
    """The first pause, what each is longer by than the one before, how much of it is chance, and when to give up."""

    seconds: float
    factor: float
    jitter: float
    attempts: int


# As upstream, for the webhooks that authenticate and authorize.
AUTH_BACKOFF = Backoff(seconds=0.5, factor=1.5, jitter=0.2, attempts=5)


async def with_backoff(backoff: Backoff, attempt: Callable[[], Awaitable[T]]) -> T:
    """The first result, or the last attempt's ReviewError."""
    pause = backoff.seconds
    for _ in range(backoff.attempts - 1):
        try:
            return await attempt()
        except ReviewError as error:
            if error.code not in _PASSING and error.retry_after is None:
                raise
            wanted = error.retry_after or 0
        await asyncio.sleep(max(wanted, pause * (1 + backoff.jitter * random.random())))
        pause *= backoff.factor
    return await attempt()
