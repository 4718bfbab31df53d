"""Taints of devices, and the tolerations of them."""

from __future__ import annotations

from kapi.api.clock import SystemClock, rfc3339
from kapi.api.fields import invalid
from kapi.api.names import label_key, label_value
from kapi.api.objects import Object
from kapi.resources.resource.findings import Findings

_EFFECTS = ("NoExecute", "NoSchedule", "None")


def default_taint(taint: Object) -> None:
    if not taint.get("timeAdded"):
        taint["timeAdded"] = rfc3339(SystemClock.now())


def check_taint(found: Findings, taint: Object, path: str, *, known_effect: str = "") -> None:
    key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
    found.add(*(invalid(f"{path}.key", key, e) for e in label_key(key)))
    found.add(*(invalid(f"{path}.value", value, e) for e in label_value(value)))
    if not effect or effect != known_effect:
        found.choice(effect, _EFFECTS, f"{path}.effect")


def check_tolerations(found: Findings, tolerations: list[Object] | None, path: str) -> None:
    for i, toleration in enumerate(tolerations or []):
        _check_toleration(found, toleration, f"{path}[{i}]")


def _check_toleration(found: Findings, toleration: Object, path: str) -> None:
    key, operator, value = toleration.get("key", ""), toleration.get("operator", ""), toleration.get("value", "")
    if operator == "Exists":
        if value:
            found.add(invalid(f"{path}.value", value, "must be empty for operator `Exists`"))
    elif operator == "Equal":
        found.add(*(invalid(f"{path}.value", value, e) for e in label_value(value)))
    if key:
        found.declare(*(invalid(f"{path}.key", key, e) for e in label_key(key)))
    found.choice(operator, ("Equal", "Exists"), f"{path}.operator")
    found.choice(toleration.get("effect", ""), _EFFECTS, f"{path}.effect", needed=False)
