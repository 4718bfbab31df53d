"""Utilization: how busy priority levels were, and for how long, told as upstream tells it.

Upstream's timing histograms observe a figure at the end of every nanosecond. Here a queue set notes how many seconds it
was as busy as it was, and only when the metrics are read that becomes observations, weighted by time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi.telemetry.metrics import Registry

if TYPE_CHECKING:
    from kapi.flowcontrol.queue_set import QueueSet

_PREFIX = "apiserver_flowcontrol_"
_LEVEL = ("priority_level",)
_PHASE = ("phase", "priority_level")
_BOUND = ("priority_level", "bound")
_SEATS = (0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99, 1)
_REQUESTS = (0, 0.001, 0.003, 0.01, 0.03, 0.1, 0.25, 0.5, 0.75, 1)
_DEMAND = (0.2, 0.4, 0.6, 0.8, 1, 1.2, 1.4, 1.7, 2, 2.8, 4, 6)
_NANOSECONDS = 1_000_000_000


class Utilization:
    def __init__(self, registry: Registry) -> None:
        self._seats = registry.histogram(
            f"{_PREFIX}priority_level_seat_utilization", "Seats in use, as a part of the nominal ones.", _SEATS, _PHASE
        )
        self._requests = registry.histogram(
            f"{_PREFIX}priority_level_request_utilization",
            "Requests that execute, as a part of the nominal seats; and that wait, as a part of the room in queues.",
            _REQUESTS,
            _PHASE,
        )
        self._demand = registry.histogram(
            f"{_PREFIX}demand_seats", "Seats that could be used, as a part of the nominal ones.", _DEMAND, _LEVEL
        )
        self._current_r = registry.gauge(f"{_PREFIX}current_r", "The virtual time, at the last change.", _LEVEL)
        self._dispatch_r = registry.gauge(f"{_PREFIX}dispatch_r", "The virtual time, at the last dispatch.", _LEVEL)
        self._latest_s = registry.gauge(
            f"{_PREFIX}latest_s", "The virtual time at which the last dispatched request started.", _LEVEL
        )
        self._next_s = registry.gauge(
            f"{_PREFIX}next_s_bounds", "Least and most, over queues, of when the next request starts.", _BOUND
        )
        self._discounted_s = registry.gauge(
            f"{_PREFIX}next_discounted_s_bounds", "The same, less the work that is under way.", _BOUND
        )

    def tell(self, queues: QueueSet, nominal: int, room: int) -> None:
        """What was noted since the last time. `room` is for how many requests there is room in queues."""
        name, seats, room = queues.name, max(nominal, 1), max(room, 1)
        for (in_use, seats_waiting, executing, waiting), seconds in queues.read_states().items():
            weight = round(seconds * _NANOSECONDS)
            self._seats.observe(in_use / seats, ("executing", name), weight)
            self._requests.observe(executing / seats, ("executing", name), weight)
            self._requests.observe(waiting / room, ("waiting", name), weight)
            self._demand.observe((in_use + seats_waiting) / seats, (name,), weight)
        self._tell_virtual_time(queues)

    def _tell_virtual_time(self, queues: QueueSet) -> None:
        level = (queues.name,)
        self._current_r.set(queues.current_r, level)
        if queues.latest_s is None:
            return
        self._dispatch_r.set(queues.dispatch_r, level)
        self._latest_s.set(queues.latest_s, level)
        starts = queues.next_starts() or [(queues.latest_s, queues.latest_s)]
        for gauge, values in zip((self._next_s, self._discounted_s), zip(*starts, strict=True), strict=True):
            gauge.set(min(values), (queues.name, "min"))
            gauge.set(max(values), (queues.name, "max"))
