"""How often policies were checked, and how long that took."""

from __future__ import annotations

from kapi.telemetry.metrics import Registry

_BUCKETS = (0.0000005, 0.001, 0.01, 0.1, 1.0)


class CheckMetrics:
    """The counter and the histogram of one kind of policies, made when the first policy is checked."""

    def __init__(self, registry: Registry, kind: str, *labels: str) -> None:
        self._registry = registry
        self._kind = kind
        self._labels = ("policy", "policy_binding", "error_type", *labels)
        self._made = False

    def observe(self, seconds: float, policy: str, binding: str, error: str, *more: str) -> None:
        if not self._made:
            self._made = True
            prefix, what = f"apiserver_{self._kind}_admission_policy", self._kind.capitalize()
            self._total = self._registry.counter(f"{prefix}_check_total", f"{what} policies checked.", self._labels)
            self._duration = self._registry.histogram(
                f"{prefix}_check_duration_seconds", f"How long {self._kind} policies took.", _BUCKETS, self._labels
            )
        values = (policy, binding, error, *more)
        self._total.inc(values)
        self._duration.observe(seconds, values)


def error_type(message: str) -> str:
    """What went wrong, as metrics tell it; as upstream, a refusal is an error too."""
    if message.startswith("compilation"):
        return "compile_error"
    if message.startswith("validation failed due to running out of cost budget"):
        return "out_of_budget"
    return "invalid_error"
