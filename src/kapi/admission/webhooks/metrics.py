"""What webhooks cost and how they end, under upstream's names."""

from __future__ import annotations

from typing import Literal, TypeAlias

from kapi.registry.attributes import Operation
from kapi.telemetry.metrics import Registry

_SECONDS = (0.005, 0.025, 0.1, 0.5, 1.0, 2.5, 10, 25)


# As upstream calls the two: those that mutate, and those that validate.
Kind: TypeAlias = Literal["admit", "validating"]


class WebhookMetrics:
    """One for both plugins: they share the names."""

    def __init__(self, registry: Registry) -> None:
        self._seconds = registry.histogram(
            "apiserver_admission_webhook_admission_duration_seconds",
            "Seconds that a webhook took.",
            _SECONDS,
            ("name", "type", "operation", "rejected"),
        )
        self._total = registry.counter(
            "apiserver_admission_webhook_request_total",
            "Calls of webhooks, by the code that came of them.",
            ("name", "type", "operation", "code", "rejected"),
        )
        self._rejections = registry.counter(
            "apiserver_admission_webhook_rejection_count",
            "Requests that webhooks refused, or that failed with them.",
            ("name", "type", "operation", "error_type", "rejection_code"),
        )
        self._fail_open = registry.counter(
            "apiserver_admission_webhook_fail_open_count",
            "Failures of webhooks that were ignored.",
            ("name", "type"),
        )

    def called(self, name: str, kind: Kind, operation: Operation, seconds: float, code: int) -> None:
        rejected = "true" if code >= 400 else "false"
        self._seconds.observe(seconds, (name, kind, operation, rejected))
        self._total.inc((name, kind, operation, str(code), rejected))

    def rejected(self, name: str, kind: Kind, operation: Operation, error: str, code: int) -> None:
        self._rejections.inc((name, kind, operation, error, str(code)))

    def failed_open(self, name: str, kind: Kind) -> None:
        self._fail_open.inc((name, kind))
