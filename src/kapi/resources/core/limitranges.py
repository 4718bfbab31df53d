"""LimitRanges: what a container, pod or claim in a namespace may ask for, and what it gets when it does not say."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, forbidden, invalid, required
from kapi.api.names import label_key
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.api.uid import new_uid
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import CREATED_AT, NAME
from kapi.resources.core.resource_lists import validate_resource_name
from kapi.resources.podspec.defaults import round_resources
from kapi.resources.podspec.resources import is_overcommittable, validate_container_resource_name

_TYPES = ("Pod", "Container", "PersistentVolumeClaim")
_LISTS = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")


def default(new: Object) -> None:
    for limit in (new.get("spec") or {}).get("limits") or []:
        for field in _LISTS:
            round_resources(limit.get(field))
        if limit.get("type") == "Container":
            _default_container(limit)


def _default_container(limit: Object) -> None:
    """A default limit is the most allowed; a default request the default limit, or else the least allowed."""
    limits = {**(limit.get("max") or {}), **(limit.get("default") or {})}
    requests = {**(limit.get("min") or {}), **limits, **(limit.get("defaultRequest") or {})}
    if limits:
        limit["default"] = limits
    if requests:
        limit["defaultRequest"] = requests


def prepare_for_create(_: Call, new: Object) -> None:
    if not new["metadata"].get("name"):
        new["metadata"]["name"] = new_uid()


def validate(_: Call, new: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, limit in enumerate((new.get("spec") or {}).get("limits") or []):
        path, kind = f"spec.limits[{i}]", limit.get("type", "")
        errors += _validate_type(kind, f"{path}.type")
        if kind in seen:
            errors.append(duplicate(f"{path}.type", kind))
        seen.add(kind)
        errors += _validate_names(limit, kind, path)
        for name in sorted({name for field in _compared(kind) for name in limit.get(field) or {}}):
            errors += _validate_order(limit, kind, name, path)
    return errors


def validate_update(call: Call, new: Object, _: Object) -> list[FieldError]:
    return validate(call, new)


def _validate_type(kind: str, path: str) -> list[FieldError]:
    errors = [invalid(path, kind, e) for e in label_key(kind)]
    if not errors and "/" not in kind and kind not in _TYPES:
        errors.append(invalid(path, kind, "must be a standard limit type or fully qualified"))
    return errors


def _compared(kind: str) -> tuple[str, ...]:
    return tuple(field for field in _LISTS if kind != "Pod" or not field.startswith("default"))


def _validate_names(limit: Object, kind: str, path: str) -> list[FieldError]:
    check = validate_container_resource_name if kind in ("Pod", "Container") else validate_resource_name
    errors: list[FieldError] = []
    for field in _LISTS:
        sized = any("storage" in (limit.get(bound) or {}) for bound in ("min", "max"))
        if field == "maxLimitRequestRatio" and kind == "PersistentVolumeClaim" and not sized:
            why = "either minimum or maximum storage value is required, but neither was provided"
            errors.append(required(f"{path}.limits", why))
        if kind == "Pod" and field.startswith("default"):
            if limit.get(field):
                errors.append(forbidden(f"{path}.{field}", "may not be specified when `type` is 'Pod'"))
            continue
        for name in limit.get(field) or {}:
            errors += check(name, f"{path}.{field}[{name}]")
    return errors


def _validate_order(limit: Object, kind: str, name: str, path: str) -> list[FieldError]:
    """The least allowed is at most what is given by default, which is at most the most allowed."""
    given = {f: Quantity.parse(limit[f][name]) for f in _compared(kind) if name in (limit.get(f) or {})}
    low, high = given.get("min"), given.get("max")
    limits, requests, ratio = given.get("default"), given.get("defaultRequest"), given.get("maxLimitRequestRatio")
    errors: list[FieldError] = []

    def above(field: str, value: Quantity, text: str) -> None:
        errors.append(invalid(f"{path}.{field}[{name}]", str(value), text))

    if low and high is not None and low > high:
        above("min", low, f"min value {low} is greater than max value {high}")
    if requests is not None:
        if low is not None and low > requests:
            above("defaultRequest", requests, f"min value {low} is greater than default request value {requests}")
        if high is not None and requests > high:
            above("defaultRequest", requests, f"default request value {requests} is greater than max value {high}")
        if limits is not None and requests > limits:
            text = f"default request value {requests} is greater than default limit value {limits}"
            above("defaultRequest", requests, text)
    if limits is not None:
        if low is not None and low > limits:
            above("default", low, f"min value {low} is greater than default value {limits}")
        if high is not None and limits > high:
            above("default", high, f"default value {limits} is greater than max value {high}")
    if ratio is not None:
        if ratio < Quantity(1):
            above("maxLimitRequestRatio", ratio, f"ratio {ratio} is less than 1")
        if low and high is not None:
            most = float(high.as_fraction() / low.as_fraction())
            if float(ratio.as_fraction()) > most:
                above("maxLimitRequestRatio", ratio, f"ratio {ratio} is greater than max/min = {most:f}")
    if not is_overcommittable(name) and limits is not None and requests is not None and limits != requests:
        text = f"default value {limits} must equal to defaultRequest value {requests} in {name}"
        above("defaultRequest", requests, text)
    return errors


RESOURCE = Resource(
    group="",
    version="v1",
    kind="LimitRange",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        validate=validate,
        validate_update=validate_update,
        create_on_update=True,
    ),
    columns=(NAME, CREATED_AT),
)
