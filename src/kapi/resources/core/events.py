"""Events: what happened to an object, told by whoever made it happen. They expire.

Both event APIs store this form. What comes through the older one need only make sense; the newer one is strict.
"""

from __future__ import annotations

from typing import Any

from kapi.api.call import Call
from kapi.api.fields import FieldError, go_struct, invalid, required
from kapi.api.gvk import GroupVersionKind
from kapi.api.names import dns_subdomain, label_key, path_segment
from kapi.api.objects import Object
from kapi.registry.metadata import validate_object_meta
from kapi.registry.resource import Resource, metadata_fields
from kapi.registry.strategy import Strategy
from kapi.registry.table import Column, age, field_value, name_of
from kapi.registry.versions import alone

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")
_MISMATCH = "does not match event.namespace"
# Settled once an event is told, in the order in which upstream looks.
_IMMUTABLE = (
    "involvedObject",
    "reason",
    "message",
    "source",
    "firstTimestamp",
    "lastTimestamp",
    "count",
    "type",
    "eventTime",
    "action",
    "related",
    "reportingController",
    "reportingInstance",
)


def validate(call: Call, new: Object) -> list[FieldError]:
    strict = _strict(call)
    errors = _validate_sense(new, "reportingController" if strict else "reportingComponent")
    if not strict:
        return errors
    errors += validate_object_meta(new["metadata"], namespaced=True, validate_name=dns_subdomain)
    errors += _validate_series(new.get("series"))
    if not new.get("eventTime"):
        errors.append(required("eventTime"))
    if new.get("type") not in ("Normal", "Warning"):
        errors.append(invalid("type", "", f"has invalid value: {new.get('type', '')}"))
    errors += [
        invalid(field, "", "needs to be unset")
        for field in ("firstTimestamp", "lastTimestamp", "count", "source")
        if new.get(field)
    ]
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    strict = _strict(call)
    errors = _validate_sense(new, "reportingController" if strict else "reportingComponent")
    if not strict:
        return errors
    if new.get("series") != old.get("series"):
        errors += _validate_series(new.get("series"))
    for shown in _IMMUTABLE:
        field = "reportingComponent" if shown == "reportingController" else shown
        if new.get(field) != old.get(field):
            errors.append(invalid(shown, go_struct(_whole(field, new.get(field))), "field is immutable"))
    return errors


# How Go shows what is not set.
_ABSENT = {"count": 0, "reason": "", "message": "", "type": "", "action": ""}


def _whole(field: str, value: Any) -> Any:
    """A field's value as Go has it: a reference has all its fields."""
    if isinstance(value, dict) and field in ("involvedObject", "related"):
        return {name: value.get(name, "") for name in _REFERENCE}
    return _ABSENT.get(field) if value is None else value


def _strict(call: Call) -> bool:
    return bool(call.info.api_group)


def _validate_series(series: Object | None) -> list[FieldError]:
    if series is None:
        return []
    errors: list[FieldError] = []
    if series.get("count", 0) < 2:
        errors.append(invalid("series.count", "", "should be at least 2"))
    if not series.get("lastObservedTime"):
        errors.append(required("series.lastObservedTime"))
    return errors


def _validate_sense(event: Object, controller_field: str) -> list[FieldError]:
    namespace = event["metadata"].get("namespace", "")
    about = (event.get("involvedObject") or {}).get("namespace", "")
    mismatch = [invalid("involvedObject.namespace", about, _MISMATCH)]
    if not event.get("eventTime"):
        return [] if namespace == about or (not about and namespace in ("", "default")) else mismatch
    errors = [] if about or namespace in ("default", "kube-system") else mismatch
    controller = event.get("reportingComponent", "")
    if not controller:
        errors.append(required(controller_field))
    errors += [invalid(controller_field, controller, e) for e in label_key(controller)]
    for field, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128), ("message", 1024)):
        value = event.get(field, "")
        if not value and field != "message":
            errors.append(required(field))
        if len(value.encode()) > limit:
            errors.append(invalid(field, "", f"can have at most {limit} characters"))
    return errors


def fields_of(decoded: Object) -> dict[str, str]:
    """Both APIs' names: they share what is stored."""
    about, reporter = decoded.get("involvedObject") or {}, decoded.get("reportingComponent", "")
    fields = {
        **metadata_fields(decoded),
        "reason": decoded.get("reason", ""),
        "type": decoded.get("type", ""),
        "reportingComponent": reporter,
        "reportingController": reporter,
        "source": (decoded.get("source") or {}).get("component") or reporter,
    }
    for field in _REFERENCE:
        fields[f"involvedObject.{field}"] = fields[f"regarding.{field}"] = about.get(field, "")
    return fields


def _first_seen(event: Object) -> str | None:
    seen: str | None = event.get("firstTimestamp") or event.get("eventTime")
    return seen


def _last_seen(event: Object) -> str | None:
    if event.get("series"):
        last: str | None = event["series"].get("lastObservedTime")
        return last
    return event.get("lastTimestamp") or _first_seen(event)


def _count(event: Object) -> int:
    count: int = event["series"].get("count", 0) if event.get("series") else event.get("count") or 1
    return count


def _object(event: Object) -> str:
    about = event.get("involvedObject") or {}
    kind = about.get("kind", "").lower()
    return f"{kind}/{about['name']}" if about.get("name") else kind


def _source(event: Object) -> str:
    source = event.get("source") or {}
    component = source.get("component") or event.get("reportingComponent", "")
    instance = source.get("host") or event.get("reportingInstance", "")
    return f"{component}, {instance}" if instance else component


COLUMNS = (
    Column("Last Seen", _last_seen, show=age),
    Column("Type", field_value("type")),
    Column("Reason", field_value("reason")),
    Column("Object", _object),
    Column("Subobject", field_value("involvedObject", "fieldPath"), priority=1),
    Column("Source", _source, priority=1),
    Column("Message", lambda event: event.get("message", "").strip()),
    Column("First Seen", _first_seen, show=age, priority=1),
    Column("Count", _count, priority=1),
    Column("Name", name_of, format="name", priority=1),
)

STRATEGY = Strategy(
    any_finalizer=True,
    metadata_last=True,
    validate=validate,
    validate_update=validate_update,
    validate_name=path_segment,
    create_on_update=True,
    garbage_collected=False,
)

RESOURCE = Resource(
    group="",
    version="v1",
    kind="Event",
    strategy=STRATEGY,
    columns=COLUMNS,
    fields_of=fields_of,
    field_names=(*(f"involvedObject.{f}" for f in _REFERENCE), "reason", "reportingComponent", "source", "type"),
    expires=True,
    convert=alone(GroupVersionKind("", "v1", "Event")),
)
