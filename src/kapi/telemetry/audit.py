"""The metrics of auditing, under the names that upstream gives them."""

from __future__ import annotations

from kapi.telemetry.metrics import Registry


class AuditMetrics:
    """One per server chain."""

    def __init__(self, registry: Registry) -> None:
        self.events = registry.counter(
            "apiserver_audit_event_total", "Counter of audit events generated and sent to the audit backend."
        )
        self.errors = registry.counter(
            "apiserver_audit_error_total",
            "Counter of audit events that failed to be audited properly. Plugin identifies the plugin affected by the "
            "error.",
            ("plugin",),
        )
        self.levels = registry.counter(
            "apiserver_audit_level_total", "Counter of policy levels for audit events (1 per request).", ("level",)
        )
        self.rejected = registry.counter(
            "apiserver_audit_requests_rejected_total",
            "Counter of apiserver requests rejected due to an error in audit logging backend.",
        )
        # What has no labels is there from the start.
        self.events.inc(by=0)
        self.rejected.inc(by=0)
