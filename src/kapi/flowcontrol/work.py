"""Work: how many seats a request takes while it executes, and how many it still holds for a while after that."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from kapi.api.request_info import RequestInfo
from kapi.flowcontrol.interest import Interest
from kapi.flowcontrol.metrics import FlowControlMetrics

if TYPE_CHECKING:
    from kapi.flowcontrol.flow import Flow

# What a seat stands for: so many bytes of a list at once, so many watchers that are told of a write.
BYTES_PER_SEAT = 100_000
WATCHES_PER_SEAT = 10
EVENT_SECONDS = 0.005
# How long a request is guessed to take, as upstream guesses.
ESTIMATED_SECONDS = 0.003
MOST_LIST_SEATS = 100
MOST_MUTATING_SEATS = 10
# A list from the cache is sent piece by piece: it never needs more memory than this.
_MOST_CACHED_BYTES = 1_000_000
_MUTATING = frozenset(("create", "update", "patch", "delete"))
_LISTING = frozenset(("list", "watch"))


class Work:
    """`final` seats are held for `latency` seconds after the request has been answered; `total` is in seat-seconds."""

    __slots__ = ("final", "initial", "latency", "seats", "total")

    def __init__(self, initial: int = 1, final: int = 0, latency: float = 0.0) -> None:
        self.initial = initial
        self.final = final
        self.latency = latency
        self.seats = max(initial, final)
        self.total = initial * ESTIMATED_SECONDS + final * latency


class Stats(NamedTuple):
    """How many objects of a resource there are, and how large they are on average."""

    objects: int
    bytes_each: int


StatsOf: TypeAlias = Callable[[str, str], Stats | None]  # by group and resource; None: not known here
Params: TypeAlias = Mapping[str, list[str]]

ONE_SEAT = Work()
_OF_LIST = tuple(Work(seats) for seats in range(MOST_LIST_SEATS + 1))


class Estimator:
    def __init__(self, stats: StatsOf, interest: Interest, metrics: FlowControlMetrics) -> None:
        self._stats = stats
        self._interest = interest
        self._metrics = metrics

    def estimate(self, info: RequestInfo, params: Params, flow: Flow) -> Work:
        verb = info.verb
        if verb in _LISTING:
            work = self._list(info, params, flow.level.most_seats)
        elif verb in _MUTATING:
            work = self._mutating(info, flow)
        else:
            work = ONE_SEAT
        if work is ONE_SEAT:
            flow.tally.single += 1
        else:
            self._metrics.estimated.observe(work.seats, flow.tally.labels)
        return work

    def _list(self, info: RequestInfo, params: Params, most: int) -> Work:
        """`most` is the number of seats that the priority level allows to one request; 0: it says nothing."""
        if info.verb == "watch" and not _wants_state(params):
            return ONE_SEAT
        limit = _limit(params)
        if limit is None:
            return _OF_LIST[_capped(MOST_LIST_SEATS, most)]  # it will be refused, and costs until then
        stats = self._stats(info.api_group, info.resource)
        if stats is None:
            return ONE_SEAT  # another server's, or nobody's: either way no work for this one
        needed = stats.objects if not limit else min(limit, stats.objects)
        from_cache = info.verb == "watch" or not _from_store(params, limit)
        if info.name or info.selected_name:
            needed = 1
        elif not from_cache and ("fieldSelector" in params or "labelSelector" in params):
            needed = max(needed, stats.objects // 2)
        size = needed * stats.bytes_each
        if from_cache:
            size = min(size, _MOST_CACHED_BYTES)
        seats = math.ceil(size / BYTES_PER_SEAT)
        return _OF_LIST[max(1, min(seats, _capped(MOST_LIST_SEATS, most)))]

    def _mutating(self, info: RequestInfo, flow: Flow) -> Work:
        # A token is made for a service account that may be watched, but the watchers are told nothing.
        if info.subresource == "token" and info.resource == "serviceaccounts":
            return ONE_SEAT
        watchers = self._interest.in_writing(info)
        self._metrics.watches.observe(watchers, flow.tally.labels)
        if watchers < WATCHES_PER_SEAT:
            return ONE_SEAT
        wanted = math.ceil(watchers / WATCHES_PER_SEAT)
        seats = min(wanted, _capped(MOST_MUTATING_SEATS, flow.level.most_seats))
        # Narrower than wanted means longer: the work stays the same.
        return Work(1, seats, wanted * EVENT_SECONDS / seats)


def _capped(limit: int, most: int) -> int:
    return most if 0 < most < limit else limit


def _first(params: Params, name: str) -> str:
    values = params.get(name)
    return values[0] if values else ""


def _limit(params: Params) -> int | None:
    """None: it cannot be read."""
    text = _first(params, "limit")
    try:
        return max(0, int(text)) if text else 0
    except ValueError:
        return None


def _wants_state(params: Params) -> bool:
    """Whether a watch begins with all there is: when it says so, or does not say where it left off."""
    if _first(params, "sendInitialEvents").lower() in ("true", "1"):
        return True
    return _first(params, "resourceVersion") in ("", "0")


def _from_store(params: Params, limit: int) -> bool:
    """Whether the cache cannot answer: an exact revision is asked for, or a list goes on at one."""
    match = _first(params, "resourceVersionMatch")
    if match:
        return match != "NotOlderThan"
    if _first(params, "continue"):
        return True
    return limit > 0 and _first(params, "resourceVersion") not in ("", "0")
