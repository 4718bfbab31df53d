"""The scale subresource of a custom resource: a Scale over the paths that its definition names."""

from __future__ import annotations

from typing import Any

from kapi.api import errors
from kapi.api.fields import FieldError, invalid
from kapi.api.gvk import GroupVersionKind
from kapi.api.objects import Object
from kapi.patch.values import go_format, go_type
from kapi.registry.resource import View
from kapi.registry.table import NAME, Column, age, created_at, field_value

_SCALE = GroupVersionKind("autoscaling", "v1", "Scale")
_HIGHEST = 0x7FFFFFFF
_COLUMNS = (
    NAME,
    Column("Desired", field_value("spec", "replicas", absent=None), type="integer"),
    Column("Available", field_value("status", "replicas", absent=0), type="integer"),
    Column("Age", created_at, type="date", show=age),
)


class NotNested(ValueError):
    """Something on the way to the field, or the field itself, is of another type."""


def view_of(scale: Object) -> View:
    spec_path, status_path = scale["specReplicasPath"], scale["statusReplicasPath"]
    selector_path = scale.get("labelSelectorPath") or ""

    def read(obj: Object) -> Object:
        try:
            replicas = nested(obj, spec_path, int)
            status: Object = {"replicas": nested(obj, status_path, int) or 0}
            selector = nested(obj, selector_path, str) if selector_path else None
        except NotNested as error:
            raise errors.BadRequest(str(error)) from None
        if selector:
            status["selector"] = selector
        kept = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
        metadata = {key: obj["metadata"][key] for key in kept if key in obj["metadata"]}
        return {
            "kind": "Scale",
            "apiVersion": "autoscaling/v1",
            "metadata": metadata,
            "spec": {"replicas": replicas} if replicas else {},
            "status": status,
        }

    def write(obj: Object, shown: Object) -> None:
        *parents, last = _parts(spec_path)
        target = obj
        for part in parents:
            target = target.setdefault(part, {})
        target[last] = (shown.get("spec") or {}).get("replicas") or 0

    def check(obj: Object) -> None:
        if nested(obj, spec_path, int) is None:
            raise errors.InternalError(f'the spec replicas field "{spec_path}" does not exist')

    return View(
        gvk=_SCALE, read=read, write=write, replicas_path=spec_path.removeprefix("."), check_get=check, columns=_COLUMNS
    )


def validate_scale(scale: Object, obj: Object, *, status_only: bool = False) -> list[FieldError]:
    found: list[FieldError] = []
    if not status_only:
        found += _validate_replicas(obj, scale["specReplicasPath"])
    found += _validate_replicas(obj, scale["statusReplicasPath"])
    selector = scale.get("labelSelectorPath")
    if selector:
        try:
            nested(obj, selector, str)
        except NotNested as error:
            found.append(invalid(selector, "", str(error)))
    return found


def _validate_replicas(obj: Object, path: str) -> list[FieldError]:
    try:
        replicas = nested(obj, path, int) or 0
    except NotNested as error:
        return [invalid(path, 0, str(error))]
    if replicas < 0:
        return [invalid(path, replicas, "should be a non-negative integer")]
    return [] if replicas <= _HIGHEST else [invalid(path, replicas, f"should be less than or equal to {_HIGHEST}")]


def nested(obj: Object, path: str, kind: type) -> Any:
    """The field that a simple path leads to, None when it is not there; NotNested when it is something else."""
    value: Any = obj
    parts = _parts(path)
    for i, part in enumerate(parts):
        if not isinstance(value, dict):
            raise NotNested(
                f".{'.'.join(parts[: i + 1])} accessor error: {go_format(value)} is of the type {go_type(value)}, "
                "expected map[string]interface{}"
            )
        if part not in value:
            return None
        value = value[part]
    if value.__class__ is not kind:
        wanted = {int: "int64", str: "string"}[kind]
        raise NotNested(f"{path} accessor error: {go_format(value)} is of the type {go_type(value)}, expected {wanted}")
    return value


def _parts(path: str) -> list[str]:
    return path.removeprefix(".").split(".")
