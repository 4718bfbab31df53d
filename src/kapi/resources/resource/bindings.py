"""Conditions that a device's users wait for before they are bound to its node."""

from __future__ import annotations

from kapi.api.fields import duplicate, invalid
from kapi.api.names import label_key
from kapi.api.objects import Object
from kapi.resources.resource.findings import Findings

_MOST = 4


def check_binding_conditions(found: Findings, holder: Object, path: str) -> None:
    good, bad = holder.get("bindingConditions") or [], holder.get("bindingFailureConditions") or []
    for field, names in (("bindingConditions", good), ("bindingFailureConditions", bad)):
        found.each(names, _MOST, f"{path}.{field}", lambda name, p: _check_name(found, name, p))
    for i, name in enumerate(good):
        if name in good[:i]:
            found.add(duplicate(f"{path}.bindingConditions[{i}]", name))
    for i, name in enumerate(bad):
        at = f"{path}.bindingFailureConditions[{i}]"
        if name in bad[:i]:
            found.add(duplicate(at, name))
        if name in good:
            found.add(invalid(at, name, "bindingFailureConditions must not overlap with bindingConditions"))
    if bad and not good:
        why = "bindingConditions are required to use bindingFailureConditions"
        found.add(invalid(f"{path}.bindingConditions", None, why))
    if good and not bad:
        why = "bindingFailureConditions are required to use bindingConditions"
        found.add(invalid(f"{path}.bindingFailureConditions", None, why))


def _check_name(found: Findings, name: str, path: str) -> None:
    found.add(*(invalid(path, name, e) for e in label_key(name)))
