"""The results of health checks, as metrics: what `/metrics/slis` serves."""

from __future__ import annotations

from kapi.telemetry.metrics import Registry


class HealthMetrics:
    def __init__(self, registry: Registry) -> None:
        self._last = registry.gauge(
            "kubernetes_healthcheck", "The last result of a check: 1 is well.", ("name", "type")
        )
        self._total = registry.counter(
            "kubernetes_healthchecks_total", "Results of health checks.", ("name", "status", "type")
        )

    def record(self, name: str, endpoint: str, *, well: bool) -> None:
        self._last.set(1 if well else 0, (name, endpoint))
        self._total.inc((name, "success" if well else "error", endpoint))
