"""Conditions of the general form (metav1.Condition): what each must say."""

from __future__ import annotations

import re

from kapi.api.fields import FieldError, duplicate, invalid, not_supported, required, too_long
from kapi.api.names import label_key
from kapi.api.objects import Object

_STATUSES = ("False", "True", "Unknown")
_REASON = "[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?"
_is_reason = re.compile(_REASON + r"\Z").match
_BAD_REASON = (
    "a condition reason must start with alphabetic character, optionally followed by a string of alphanumeric "
    "characters or '_,:', and must end with an alphanumeric character or '_' (e.g. 'my_name',  or 'MY_NAME',  or "
    f"'MyName',  or 'ReasonA,ReasonB',  or 'ReasonA:ReasonB', regex used for validation is '{_REASON}')"
)
_LONGEST_REASON = 1024
_LONGEST_MESSAGE = 32 * 1024


def validate_conditions(conditions: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        kind = condition.get("type", "")
        if kind in seen:
            errors.append(duplicate(f"{path}[{i}]", kind))
        seen.add(kind)
        errors += validate_condition(condition, f"{path}[{i}]")
    return errors


def validate_condition(condition: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind, status, reason = condition.get("type", ""), condition.get("status", ""), condition.get("reason", "")
    if not kind:
        errors.append(required(f"{path}.type", "is required"))
    else:
        errors += [invalid(f"{path}.type", kind, e) for e in label_key(kind)]
    if not status:
        errors.append(required(f"{path}.status"))
    elif status not in _STATUSES:
        errors.append(not_supported(f"{path}.status", status, _STATUSES))
    generation = condition.get("observedGeneration", 0)
    if generation < 0:
        errors.append(invalid(f"{path}.observedGeneration", generation, "must be greater than or equal to zero"))
    if not condition.get("lastTransitionTime"):
        errors.append(required(f"{path}.lastTransitionTime"))
    if not reason:
        errors.append(required(f"{path}.reason"))
    else:
        if not _is_reason(reason):
            errors.append(invalid(f"{path}.reason", reason, _BAD_REASON))
        if len(reason.encode()) > _LONGEST_REASON:
            errors.append(too_long(f"{path}.reason", _LONGEST_REASON))
    if len(condition.get("message", "").encode()) > _LONGEST_MESSAGE:
        errors.append(too_long(f"{path}.message", _LONGEST_MESSAGE))
    return errors
