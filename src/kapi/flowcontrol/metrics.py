"""What flow control tells of itself, under upstream's names.

What changes with every request is counted in a Tally, by plain attributes, and read when it is scraped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import attrgetter

from kapi.flowcontrol.utilization import Utilization
from kapi.telemetry.metrics import Computed, Labels, Registry
from kapi.telemetry.requests import RequestMetrics

_PREFIX = "apiserver_flowcontrol_"
_LEVEL = ("priority_level",)
_FLOW = ("priority_level", "flow_schema")
_SECONDS = (0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 15, 30)
_LENGTHS = (0, 10, 25, 50, 100, 250, 500, 1000)
_SEATS = (1, 2, 4, 8, 16, 32, 64, 100)
_WATCHES = (0, 1, 10, 100, 1000, 10000)

# Attribute of a Tally → name, kind, help.
_TALLIED = {
    "dispatched": ("dispatched_requests_total", "counter", "Requests that were given a seat."),
    "waiting": ("current_inqueue_requests", "gauge", "Requests that wait in queues."),
    "seats_waiting": ("current_inqueue_seats", "gauge", "Seats that waiting requests ask for."),
    "executing": ("current_executing_requests", "gauge", "Requests under way; a watch only until it has begun."),
    "seats_in_use": ("current_executing_seats", "gauge", "Seats that are taken."),
}
# Of each priority level: name → help.
_LIMITS = {
    "nominal_limit_seats": "Seats that the level's share comes to.",
    "lower_limit_seats": "Seats that are left when the level has lent all it may.",
    "upper_limit_seats": "Seats when the level has borrowed all it may.",
    "current_limit_seats": "Seats at present.",
    "demand_seats_high_watermark": "The most seats that could have been used, over the last adjustment period.",
    "demand_seats_average": "The seats that could have been used, on average over the last adjustment period.",
    "demand_seats_stdev": "The standard deviation of those, over the last adjustment period.",
    "demand_seats_smoothed": "The demand for seats, smoothed.",
    "target_seats": "Seats that the level would be given if there were enough.",
}


class Tally:
    """Counts of one flow schema at one priority level.

    The usual request takes one seat (`single`), finds its queue empty (`straight`) and does not wait (`at_once`): that
    is counted here, and told to the histograms before they are read.
    """

    __slots__ = (
        "at_once",
        "dispatched",
        "executing",
        "labels",
        "regular",
        "seats_in_use",
        "seats_waiting",
        "single",
        "straight",
        "waiting",
        "watch",
    )

    def __init__(self, labels: Labels) -> None:
        self.labels = labels
        self.regular, self.watch = (*labels, "regular"), (*labels, "watch")
        self.dispatched = self.waiting = self.seats_waiting = self.executing = self.seats_in_use = 0
        self.single = self.straight = self.at_once = 0


class FlowControlMetrics:
    """`in_flight` and `in_queue` count by what kind of request it is."""

    def __init__(self, registry: Registry, requests: RequestMetrics) -> None:
        self.in_flight, self.in_queue = requests.in_flight.values, requests.in_queue.values
        self._tallies: dict[Labels, Tally] = {}
        for attribute, (name, kind, help) in _TALLIED.items():
            registry.register(Computed(_PREFIX + name, help, self._reader(attribute), labels=_FLOW, kind=kind))
        self.rejected = registry.counter(
            f"{_PREFIX}rejected_requests_total", "Requests that were refused.", (*_FLOW, "reason")
        )
        self.not_accommodated = registry.counter(
            f"{_PREFIX}request_dispatch_no_accommodation_total",
            "How often the next request in turn had to wait for more seats.",
            _FLOW,
        )
        self.wait = registry.histogram(
            f"{_PREFIX}request_wait_duration_seconds", "Seconds in a queue.", _SECONDS, (*_FLOW, "execute")
        )
        self.execution = registry.histogram(
            f"{_PREFIX}request_execution_seconds",
            "Seconds of execution; of a watch until it has begun.",
            _SECONDS,
            (*_FLOW, "type"),
        )
        self.queue_length = registry.histogram(
            f"{_PREFIX}request_queue_length_after_enqueue", "The queue as a request found it.", _LENGTHS, _FLOW
        )
        self.estimated = registry.histogram(
            f"{_PREFIX}work_estimated_seats", "Seats that requests were estimated to take.", _SEATS, _FLOW
        )
        self.watches = registry.histogram(
            f"{_PREFIX}watch_count_samples", "Watchers that writes had to be told to.", _WATCHES, _FLOW
        )
        self.utilization = Utilization(registry)
        self.before_reading = registry.before_reading
        registry.before_reading(self._tell_usual)
        self.limits = {name: registry.gauge(_PREFIX + name, help, _LEVEL) for name, help in _LIMITS.items()}
        self.fair_fraction = registry.gauge(
            f"{_PREFIX}seat_fair_frac", "The part of its target that each level is given which no bound holds."
        )

    def tally(self, level: str, schema: str) -> Tally:
        labels = (level, schema)
        found = self._tallies.get(labels)
        if found is None:
            found = self._tallies[labels] = Tally(labels)
        return found

    def _tell_usual(self) -> None:
        for labels, tally in self._tallies.items():
            if tally.single:
                self.estimated.observe(1, labels, tally.single)
            if tally.straight:
                self.queue_length.observe(1, labels, tally.straight)
            if tally.at_once:
                self.wait.observe(0.0, (*labels, "true"), tally.at_once)
            tally.single = tally.straight = tally.at_once = 0

    def _reader(self, attribute: str) -> Callable[[], Iterable[tuple[Labels, float]]]:
        value = attrgetter(attribute)
        return lambda: sorted((labels, value(tally)) for labels, tally in self._tallies.items())
