"""Taints: what keeps pods off a node."""

from __future__ import annotations

from dataclasses import replace

from kapi.api.fields import FieldError, duplicate, go_struct, invalid, not_supported, required
from kapi.api.names import label_key, label_value
from kapi.api.objects import Object

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def validate_taints(taints: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[tuple[str, str]] = set()
    for i, taint in enumerate(taints):
        at = f"{path}[{i}]"
        key, value, effect = taint.get("key", ""), taint.get("value", ""), taint.get("effect", "")
        errors += [invalid(f"{at}.key", key, e) for e in label_key(key)]
        problems = label_value(value)
        if problems:
            errors.append(invalid(f"{at}.value", value, ";".join(problems)))
        if not effect:
            errors.append(required(f"{at}.effect"))
        elif effect not in EFFECTS:
            errors.append(not_supported(f"{at}.effect", effect, EFFECTS, in_order=True))
        if (key, effect) in seen:
            shown = go_struct({"key": key, "value": value, "effect": effect, "timeAdded": taint.get("timeAdded")})
            errors.append(replace(duplicate(at, shown), detail="taints must be unique by key and effect pair"))
        seen.add((key, effect))
    return errors
