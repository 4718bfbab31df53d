"""What is counted of service accounts' tokens, as they are checked: not again while a token is known."""

from __future__ import annotations

from kapi.telemetry.metrics import Registry


class ServiceAccountMetrics:
    def __init__(self, registry: Registry) -> None:
        self.legacy = registry.counter(
            "serviceaccount_legacy_tokens_total", "Cumulative legacy service account tokens used"
        )
        self.stale = registry.counter(
            "serviceaccount_stale_tokens_total", "Cumulative stale projected service account tokens used"
        )
        self.valid = registry.counter(
            "serviceaccount_valid_tokens_total", "Cumulative valid projected service account tokens used"
        )
        self.manual = registry.counter(
            "serviceaccount_legacy_manual_token_uses_total", "Cumulative manually created legacy tokens used"
        )
        self.generated = registry.counter(
            "serviceaccount_legacy_auto_token_uses_total", "Cumulative auto-generated legacy tokens used"
        )
        self.invalid = registry.counter(
            "serviceaccount_invalid_legacy_auto_token_uses_total",
            "Cumulative invalid auto-generated legacy tokens used",
        )
