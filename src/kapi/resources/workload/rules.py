"""Rules that fields of many workloads share: counts, percentages, immutability."""

from __future__ import annotations

import re

from kapi.api.fields import FieldError, go_struct, invalid
from kapi.api.names import dns_label
from kapi.api.objects import Object

IMMUTABLE = "field is immutable"
_is_percent = re.compile(r"[0-9]+%\Z").match
_PERCENT = (
    "a valid percent string must be a numeric string followed by an ending '%' "
    "(e.g. '1%',  or '93%', regex used for validation is '[0-9]+%')"
)


def nonnegative(value: int | None, path: str) -> list[FieldError]:
    """An absent count is fine."""
    if value is None or value >= 0:
        return []
    return [invalid(path, value, "must be greater than or equal to 0")]


def nonnegative_fields(holder: Object, path: str, *names: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name in names:
        errors += nonnegative(holder.get(name), f"{path}.{name}")
    return errors


def not_above(status: Object, path: str, limit: str, detail: str, *names: str) -> list[FieldError]:
    """Counts of a status that are parts of another of its counts."""
    most = status.get(limit, 0)
    return [invalid(f"{path}.{n}", status.get(n, 0), detail) for n in names if status.get(n, 0) > most]


def not_decremented(status: Object, former: Object, path: str, name: str) -> list[FieldError]:
    """A counter does not go back, nor away."""
    new, old = status.get(name), former.get(name)
    if old is None or (new is not None and new >= old):
        return []
    return [invalid(f"{path}.{name}", new or 0, "cannot be decremented")]


def validate_replica_status(status: Object) -> list[FieldError]:
    """What replica sets and replication controllers count."""
    parts = ("fullyLabeledReplicas", "readyReplicas", "availableReplicas")
    errors = nonnegative_fields(status, "status", "replicas", *parts, "observedGeneration", "terminatingReplicas")
    errors += not_above(status, "status", "replicas", "cannot be greater than status.replicas", *parts)
    return errors + not_above(
        status, "status", "readyReplicas", "cannot be greater than readyReplicas", "availableReplicas"
    )


def positive_int_or_percent(value: int | str | None, path: str) -> list[FieldError]:
    if isinstance(value, str):
        return [] if _is_percent(value) else [invalid(path, value, _PERCENT)]
    return nonnegative(value, path)


def shown_strategy(strategy: Object) -> Object:
    """How a deployment or daemon set is updated, as a message shows it: by Go's names, in Go's order."""
    rolling = strategy.get("rollingUpdate")
    bounds = rolling and {name: rolling.get(name, 0) for name in ("maxUnavailable", "maxSurge")}
    return {"Type": strategy.get("type"), "RollingUpdate": go_struct(bounds)}


def at_most_all(value: int | str | None, path: str) -> list[FieldError]:
    if isinstance(value, str) and _is_percent(value) and int(value[:-1]) > 100:
        return [invalid(path, value, "must not be greater than 100%")]
    return []


def amount(value: int | str | None) -> int:
    """The number in an integer or a percentage; zero for what is neither."""
    if isinstance(value, str):
        digits = value[:-1] if _is_percent(value) else value
        return int(digits) if re.fullmatch(r"[+-]?[0-9]+", digits) else 0
    return value or 0


def name_warnings(name: str) -> list[str]:
    """Names of pods, and hostnames, begin with the name of what makes them."""
    problems = dns_label(name)
    if not problems:
        return []
    text = (
        "this is used in Pod names and hostnames, which can result in surprising behavior; a DNS label is recommended"
    )
    return [f"metadata.name: {text}: [{' '.join(problems)}]"]
