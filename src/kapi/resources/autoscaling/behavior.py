"""How fast an autoscaler may scale: its defaults and its rules."""

from __future__ import annotations

from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.api.quantity import Quantity

_LONGEST_PERIOD = 1800
_LONGEST_WINDOW = 3600
_SELECTIONS = ("Disabled", "Max", "Min")
_KINDS = ("Percent", "Pods")


def default_behavior(behavior: Object) -> None:
    """One rule, if any, is all rules."""
    up = behavior.setdefault("scaleUp", {})
    up.setdefault("stabilizationWindowSeconds", 0)
    up.setdefault("selectPolicy", "Max")
    up.setdefault(
        "policies",
        [
            {"type": "Pods", "value": 4, "periodSeconds": 15},
            {"type": "Percent", "value": 100, "periodSeconds": 15},
        ],
    )
    down = behavior.setdefault("scaleDown", {})
    down.setdefault("selectPolicy", "Max")
    down.setdefault("policies", [{"type": "Percent", "value": 100, "periodSeconds": 15}])


def validate_behavior(behavior: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("scaleUp", "scaleDown"):
        if behavior.get(field) is not None:
            errors += _validate_rules(behavior[field], f"{path}.{field}")
    return errors


def _validate_rules(rules: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    window, selection = rules.get("stabilizationWindowSeconds"), rules.get("selectPolicy")
    at = f"{path}.stabilizationWindowSeconds"
    if window is not None and window < 0:
        errors.append(invalid(at, window, "must be greater than or equal to zero"))
    if window is not None and window > _LONGEST_WINDOW:
        errors.append(invalid(at, window, f"must be less than or equal to {_LONGEST_WINDOW}"))
    if selection is not None and selection not in _SELECTIONS:
        errors.append(not_supported(f"{path}.selectPolicy", selection, _SELECTIONS))
    policies = rules.get("policies") or []
    if not policies:
        errors.append(required(f"{path}.policies", "must specify at least one Policy"))
    for i, policy in enumerate(policies):
        errors += _validate_policy(policy, f"{path}.policies[{i}]")
    tolerance = rules.get("tolerance")
    if tolerance is not None and Quantity.parse(tolerance).sign < 0:
        errors.append(invalid(f"{path}.tolerance", tolerance, "must be greater than or equal to 0"))
    return errors


def _validate_policy(policy: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, value, period = policy.get("type", ""), policy.get("value", 0), policy.get("periodSeconds", 0)
    if kind not in _KINDS:
        errors.append(not_supported(f"{path}.type", kind, _KINDS))
    if value <= 0:
        errors.append(invalid(f"{path}.value", value, "must be greater than zero"))
    if period <= 0:
        errors.append(invalid(f"{path}.periodSeconds", period, "must be greater than zero"))
    if period > _LONGEST_PERIOD:
        errors.append(invalid(f"{path}.periodSeconds", period, f"must be less than or equal to {_LONGEST_PERIOD}"))
    return errors
