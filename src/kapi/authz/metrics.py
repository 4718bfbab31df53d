"""What is counted of authorizers: their decisions, and how webhooks and their conditions fare."""

from __future__ import annotations

from kapi.telemetry.metrics import Registry

_PREFIX = "apiserver_authorization"
_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10)


class AuthorizerMetrics:
    def __init__(self, registry: Registry) -> None:
        by_name, by_result = ("type", "name"), ("name", "result")
        self.decisions = registry.counter(
            f"{_PREFIX}_decisions_total",
            "Total number of terminal decisions made by an authorizer split by authorizer type, name, and decision.",
            (*by_name, "decision"),
        )
        self.evaluations = registry.counter(
            f"{_PREFIX}_webhook_evaluations_total", "Round-trips to authorization webhooks.", by_result
        )
        self.seconds = registry.histogram(
            f"{_PREFIX}_webhook_duration_seconds", "Request latency in seconds.", _SECONDS, by_result
        )
        self.failed_open = registry.counter(
            f"{_PREFIX}_webhook_evaluations_fail_open_total",
            "NoOpinion results due to webhook timeout or error.",
            by_result,
        )
        self.condition_errors = registry.counter(
            f"{_PREFIX}_match_condition_evaluation_errors_total",
            "Total number of errors when an authorization webhook encounters a match condition error split by "
            "authorizer type and name.",
            by_name,
        )
        self.exclusions = registry.counter(
            f"{_PREFIX}_match_condition_exclusions_total",
            "Total number of exclusions when an authorization webhook is skipped because match conditions exclude it.",
            by_name,
        )
        self.condition_seconds = registry.histogram(
            f"{_PREFIX}_match_condition_evaluation_seconds",
            "Authorization match condition evaluation time in seconds, split by authorizer type and name.",
            (0.001, 0.005, 0.01, 0.025, 0.1, 0.2, 0.25),
            by_name,
        )
