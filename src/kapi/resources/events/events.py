"""Events in their newer shape: the same objects as the core group's, by other names."""

from __future__ import annotations

from dataclasses import replace

from kapi.api.gvk import GroupResource, GroupVersionKind
from kapi.api.objects import Object
from kapi.registry.resource import Conversion, Resource
from kapi.registry.versions import alone
from kapi.resources.core.events import COLUMNS, STRATEGY, fields_of

# This API's field → the stored one's.
_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
    "reportingController": "reportingComponent",
}
_STORED_NAMES = {stored: name for name, stored in _NAMES.items()}
# Which fields are there even when they are empty.
_STORED_ALWAYS = ("reportingComponent", "reportingInstance")
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")


def to_stored(new: Object) -> Object:
    stored = {_NAMES.get(field, field): value for field, value in new.items()}
    for field in _STORED_ALWAYS:
        stored.setdefault(field, "")
    return {**stored, "kind": "Event", "apiVersion": "v1"}


def from_stored(stored: Object) -> Object:
    shown = {_STORED_NAMES.get(field, field): value for field, value in stored.items()}
    for field in ("reportingController", "reportingInstance"):
        if not shown.get(field):
            shown.pop(field, None)
    return {**shown, "kind": "Event", "apiVersion": "events.k8s.io/v1"}


RESOURCE = Resource(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    strategy=replace(STRATEGY, any_finalizer=False),
    columns=COLUMNS,
    fields_of=fields_of,
    field_names=(*(f"regarding.{f}" for f in _REFERENCE), "reason", "reportingController", "type"),
    prefix="events",
    expires=True,
    conversion=Conversion(
        stored=GroupVersionKind("", "v1", "Event"),
        stored_resource=GroupResource("", "events"),
        to_stored=to_stored,
        from_stored=from_stored,
    ),
    convert=alone(GroupVersionKind("events.k8s.io", "v1", "Event")),
)
