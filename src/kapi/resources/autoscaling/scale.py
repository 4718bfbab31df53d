"""Scale: how many replicas of something there shall be, and are. The view of every scalable workload."""

from __future__ import annotations

from kapi.api.fields import FieldError
from kapi.api.gvk import GroupVersionKind
from kapi.api.objects import Object
from kapi.registry.resource import View
from kapi.registry.table import AGE, Column, name_of
from kapi.resources.workload.columns import count, selector_text
from kapi.resources.workload.rules import nonnegative

_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")


def read(decoded: Object) -> Object:
    metadata, spec = decoded["metadata"], decoded.get("spec") or {}
    shown = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": (decoded.get("status") or {}).get("replicas", 0)}
    selected = _selector(spec.get("selector") or {})
    if selected:
        status["selector"] = selected
    replicas = spec.get("replicas")
    return {
        "kind": _SCALE.kind,
        "apiVersion": str(_SCALE.group_version),
        "metadata": {field: metadata[field] for field in shown if field in metadata},
        "spec": {"replicas": replicas} if replicas else {},
        "status": status,
    }


def _selector(selector: Object) -> str:
    """A replication controller's is a plain map of labels."""
    plain = all(isinstance(value, str) for value in selector.values())
    return selector_text({"matchLabels": selector} if plain else selector)


def write(decoded: Object, scale: Object) -> None:
    decoded["spec"]["replicas"] = (scale.get("spec") or {}).get("replicas", 0)


def validate(scale: Object) -> list[FieldError]:
    return nonnegative((scale.get("spec") or {}).get("replicas"), "spec.replicas")


VIEW = View(
    gvk=_SCALE,
    read=read,
    write=write,
    validate=validate,
    replicas_path="spec.replicas",
    columns=(
        Column("Name", name_of),
        count("Desired", "spec", "replicas"),
        count("Available", "status", "replicas"),
        AGE,
    ),
)
