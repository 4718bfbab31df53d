"""What an autoscaler looks at: the rules of metrics, and how they are shown."""

from __future__ import annotations

from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.gvk import GroupVersion
from kapi.api.names import dns_label, path_segment
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.resources.podspec.resources import validate_container_resource_name

_TYPES = ("ContainerResource", "External", "Object", "Pods", "Resource")
_FIELDS = {
    "Object": "object",
    "Pods": "pods",
    "Resource": "resource",
    "External": "external",
    "ContainerResource": "containerResource",
}
# In the order in which they are looked at.
_SOURCES = ("object", "external", "pods", "resource", "containerResource")
_SHOWN = 2
_NO_TARGET = {
    "object": "must set either a target value or averageValue",
    "external": "must set either a target value for metric or a per-pod target",
}


def validate_metrics(
    metrics: list[Object], path: str, min_replicas: int | None, *, any_version: bool
) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, metric in enumerate(metrics):
        errors += _validate_metric(metric, f"{path}[{i}]", any_version=any_version)
    if min_replicas == 0 and not any(m.get("type") in ("Object", "External") for m in metrics):
        why = "must specify at least one Object or External metric to support scaling to zero replicas"
        errors.append(forbidden(path, why))
    return errors


def _validate_metric(metric: Object, path: str, *, any_version: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = metric.get("type", "")
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric source type"))
    if kind not in _TYPES:
        errors.append(not_supported(f"{path}.type", kind, _TYPES))
    present = [field for field in _SOURCES if metric.get(field) is not None]
    if present:
        errors += _validate_source(metric[present[0]], present[0], f"{path}.{present[0]}", any_version=any_version)
    expected = _FIELDS.get(kind)
    if expected is None:
        errors.append(not_supported(f"{path}.type", kind, _TYPES))
    elif metric.get(expected) is None:
        errors.append(required(f"{path}.{expected}", "must populate information for the given metric source"))
    if len(present) != 1:
        why = "must populate the given metric source only"
        errors += [forbidden(f"{path}.{field}", why) for field in present if field != expected]
    return errors


def _validate_source(source: Object, field: str, path: str, *, any_version: bool) -> list[FieldError]:
    target = source.get("target") or {}
    at = f"{path}.target"
    if field in ("resource", "containerResource"):
        errors = _validate_resource_name(source, path, of_container=field == "containerResource")
        return errors + _validate_target(target, at) + _validate_utilization(target, at)
    errors = []
    if field == "object":
        described = source.get("describedObject") or {}
        errors += validate_reference(described, f"{path}.describedObject", any_group=True, any_version=any_version)
    errors += _validate_identifier(source.get("metric") or {}, f"{path}.metric")
    errors += _validate_target(target, at)
    value, average = target.get("value"), target.get("averageValue")
    if field == "pods":
        if average is None:
            errors.append(required(f"{at}.averageValue", "must specify a positive target averageValue"))
    elif value is None and average is None:
        errors.append(required(f"{at}.averageValue", _NO_TARGET[field]))
    elif field == "external" and value is not None and average is not None:
        why = "may not set both a target value for metric and a per-pod target"
        errors.append(forbidden(f"{at}.value", why))
    return errors


def _validate_resource_name(source: Object, path: str, *, of_container: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    name = source.get("name", "")
    if not name:
        errors.append(required(f"{path}.name", "must specify a resource name"))
    elif of_container:
        errors += validate_container_resource_name(name, f"{path}.name")
    if of_container:
        container = source.get("container", "")
        if not container:
            errors.append(required(f"{path}.container", "must specify a container"))
        else:
            errors += [invalid(f"{path}.container", container, e) for e in dns_label(container)]
    return errors


def _validate_utilization(target: Object, path: str) -> list[FieldError]:
    utilization, average = target.get("averageUtilization"), target.get("averageValue")
    if utilization is None and average is None:
        why = "must set either a target raw value or a target utilization"
        return [required(f"{path}.averageUtilization", why)]
    if utilization is not None and average is not None:
        return [forbidden(f"{path}.averageValue", "may not set both a target raw value and a target utilization")]
    return []


def _validate_target(target: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    kind = target.get("type", "")
    if not kind:
        errors.append(required(f"{path}.type", "must specify a metric target type"))
    if kind not in ("Utilization", "Value", "AverageValue"):
        errors.append(invalid(f"{path}.type", kind, "must be either Utilization, Value, or AverageValue"))
    for field in ("value", "averageValue"):
        amount = target.get(field)
        if amount is not None and Quantity.parse(amount).sign != 1:
            errors.append(invalid(f"{path}.{field}", amount, "must be positive"))
    utilization = target.get("averageUtilization")
    if utilization is not None and utilization < 1:
        errors.append(invalid(f"{path}.averageUtilization", utilization, "must be greater than 0"))
    return errors


def _validate_identifier(metric: Object, path: str) -> list[FieldError]:
    name = metric.get("name", "")
    if not name:
        return [required(f"{path}.name", "must specify a metric name")]
    return [invalid(f"{path}.name", name, e) for e in path_segment(name)]


def validate_reference(reference: Object, path: str, *, any_group: bool, any_version: bool) -> list[FieldError]:
    """Another object by kind and name, in whatever version it is served."""
    errors: list[FieldError] = []
    for field in ("kind", "name"):
        value = reference.get(field, "")
        if not value:
            errors.append(required(f"{path}.{field}"))
        errors += [invalid(f"{path}.{field}", value, e) for e in path_segment(value)]
    problem = version_problem(reference.get("apiVersion", ""), any_group=any_group)
    if problem and not any_version:
        errors.append(invalid(f"{path}.apiVersion", reference.get("apiVersion", ""), problem))
    return errors


def version_problem(api_version: str, *, any_group: bool) -> str:
    try:
        group = GroupVersion.parse(api_version).group
    except ValueError:
        return f"unexpected GroupVersion string: {api_version}"
    return "" if group or any_group else "apiVersion must specify API group"


def metrics_text(specs: list[Object], statuses: list[Object]) -> str:
    """Current and wanted values, of the first few metrics."""
    if not specs:
        return "<none>"
    shown = [_metric_text(spec, statuses[i] if i < len(statuses) else {}) for i, spec in enumerate(specs[:_SHOWN])]
    more = len(specs) - _SHOWN
    return ", ".join(shown) + (f" + {more} more..." if more > 0 else "")


def _metric_text(spec: Object, status: Object) -> str:
    kind = spec.get("type", "")
    field = _FIELDS.get(kind)
    if field is None:
        return "<unknown type>"
    source, current = spec.get(field) or {}, (status.get(field) or {}).get("current")
    target = source.get("target") or {}
    if kind in ("Resource", "ContainerResource"):
        return f"{source.get('name', '')}: {_resource_text(target, current)}"
    average = target.get("averageValue")
    if kind == "Pods":
        return f"{_current(current, 'averageValue')}/{average}"
    if average is not None:
        now = (current or {}).get("averageValue") or "<unknown>"
        return f"{now}/{average} (avg)"
    return f"{_current(current, 'value')}/{target.get('value')}"


def _resource_text(target: Object, current: Object | None) -> str:
    if target.get("averageValue") is not None:
        return f"{_current(current, 'averageValue')}/{target['averageValue']}"
    used, wanted = (current or {}).get("averageUtilization"), target.get("averageUtilization")
    return f"{'<unknown>' if used is None else f'{used}%'}/{'<auto>' if wanted is None else f'{wanted}%'}"


def _current(current: Object | None, field: str) -> str:
    if current is None:
        return "<unknown>"
    # As a nil quantity prints itself.
    return str(current.get(field) or "<nil>")
