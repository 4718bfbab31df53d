"""The API server's own request metrics, under the names that upstream gives them."""

from __future__ import annotations

from kapi.telemetry.metrics import Registry

_DURATION = (0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60)
_SIZES = (1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9)
# Values of the label request_kind.
READ_ONLY, MUTATING = ("readOnly",), ("mutating",)
READS = frozenset(("get", "list", "watch"))
_WHAT = ("group", "version", "resource", "subresource", "scope", "component")


class RequestMetrics:
    """One per server chain."""

    def __init__(self, registry: Registry) -> None:
        self.total = registry.counter(
            "apiserver_request_total",
            "Requests by what they asked for and how they ended.",
            ("verb", "dry_run", *_WHAT, "code"),
        )
        self.duration = registry.histogram(
            "apiserver_request_duration_seconds",
            "Seconds from arrival to answer.",
            _DURATION,
            ("verb", "dry_run", *_WHAT),
        )
        self.sizes = registry.histogram(
            "apiserver_response_sizes", "Bytes of the answers to reads.", _SIZES, ("verb", *_WHAT)
        )
        self.long_running = registry.gauge(
            "apiserver_longrunning_requests", "Long-running requests under way.", ("verb", *_WHAT)
        )
        self.in_flight = registry.gauge(
            "apiserver_current_inflight_requests",
            "Requests that count against the in-flight limits.",
            ("request_kind",),
        )
        self.in_queue = registry.gauge(
            "apiserver_current_inqueue_requests", "Requests that wait for a seat.", ("request_kind",)
        )
        for kind in (READ_ONLY, MUTATING):
            self.in_flight.set(0, kind)
            self.in_queue.set(0, kind)
        self.dropped = registry.counter(
            "apiserver_dropped_requests_total", "Requests refused because too many were in flight.", ("request_kind",)
        )
        self.terminations = registry.counter(
            "apiserver_request_terminations_total",
            "Requests the server ended in self-defence.",
            ("verb", *_WHAT, "code"),
        )
        self.authentications = registry.counter(
            "authentication_attempts", "Authentication attempts by result.", ("result",)
        )
        self.authorizations = registry.counter(
            "authorization_attempts_total", "Authorization attempts by result.", ("result",)
        )
