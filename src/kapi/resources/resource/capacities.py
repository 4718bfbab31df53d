"""Capacities of devices that several users can share: how much of them one may ask for."""

from __future__ import annotations

from kapi.api.fields import duplicate, forbidden, invalid, required, too_many
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.resources.resource.findings import Findings

_MOST_VALUES = 10


def check_capacity(found: Findings, capacity: Object, path: str, *, shared: bool) -> None:
    policy = capacity.get("requestPolicy")
    if policy is None:
        return
    at = f"{path}.requestPolicy"
    if not shared:
        found.add(forbidden(at, "allowMultipleAllocations must be true"))
        return
    values, span = policy.get("validValues") or [], policy.get("validRange")
    if values and span is not None:
        why = 'exactly one policy can be specified, cannot specify "validValues" and "validRange" at the same time'
        found.add(forbidden(at, why))
        return
    most, default = Quantity.parse(capacity.get("value", "0")), policy.get("default")
    kind = "validValues" if values else "validRange" if span is not None else ""
    if kind and default is None:
        found.add(required(f"{at}.default", f"required when {kind} is defined"))
    elif values:
        _check_values(found, [Quantity.parse(v) for v in values], Quantity.parse(default), most, f"{at}.validValues")
    elif span is not None:
        parsed = {field: Quantity.parse(span[field]) for field in ("min", "max", "step") if span.get(field) is not None}
        _check_range(found, parsed, Quantity.parse(default), most, f"{at}.validRange")


def _check_values(found: Findings, values: list[Quantity], default: Quantity, most: Quantity, path: str) -> None:
    for i, value in enumerate(values[1:], 1):
        if values[i - 1] > value:
            found.add(invalid(f"{path}[{i}]", str(value), "values must be sorted in ascending order"))
    if len(values) > _MOST_VALUES:
        found.add(too_many(path, len(values), _MOST_VALUES))
    else:
        for i, value in enumerate(values):
            if value > most:
                found.add(invalid(f"{path}[{i}]", str(value), f"option is larger than capacity value: {most}"))
        found.add(*(duplicate(f"{path}[{i}]", str(value)) for i, value in enumerate(values) if value in values[:i]))
    if default not in values:
        found.add(invalid(path, str(default), "default value is not valid according to the requestPolicy"))


def _check_range(found: Findings, span: dict[str, Quantity], default: Quantity, most: Quantity, path: str) -> None:
    low, high, step = span.get("min"), span.get("max"), span.get("step")
    if low is None:
        found.add(required(f"{path}.min", "required when validRange is defined"))
        return
    if low > most:
        found.add(invalid(f"{path}.min", str(low), f"min is larger than capacity value: {most}"))
    if default < low:
        found.add(invalid(f"{path}.default", str(default), f"default is less than min: {low}"))
    if high is not None:
        if low > high:
            found.add(invalid(f"{path}.max", str(low), f"min is larger than max: {high}"))
        if high > most:
            found.add(invalid(f"{path}.max", str(high), f"max is larger than capacity value: {most}"))
        if default > high:
            found.add(invalid(f"{path}.default", str(default), f"default is more than max: {high}"))
    if step is None:
        return
    if step.sign <= 0:
        found.add(invalid(f"{path}.step", str(step), "must be greater than zero"))
        return
    if low + step > most:
        why = f"one step {low + step} is larger than capacity value: {most}"
        found.add(invalid(f"{path}.step", str(step), why))
    for value in (default, high):
        if value is not None and (value.as_fraction() - low.as_fraction()) % step.as_fraction():
            why = f"value is not a multiple of a given step ({step}) from ({low})"
            found.add(invalid(f"{path}.step", str(value), why))
