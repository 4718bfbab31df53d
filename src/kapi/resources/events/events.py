"""Events in their newer shape: the same objects as the core group's, by other names."""

from __future__ import annotations

from kapi.registry.resource import Resource
from kapi.resources.core.event_versions import CONVERSION, CONVERT
from kapi.resources.core.events import COLUMNS, STRATEGY, fields_of

_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

RESOURCE = Resource(
    group="events.k8s.io",
    version="v1",
    kind="Event",
    strategy=STRATEGY,
    columns=COLUMNS,
    fields_of=fields_of,
    field_names=(*(f"regarding.{f}" for f in _REFERENCE), "reason", "reportingController", "type"),
    prefix="events",
    expires=True,
    conversion=CONVERSION,
    convert=CONVERT,
)
