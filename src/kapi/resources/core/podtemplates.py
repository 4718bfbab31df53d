"""PodTemplates: a pod template by itself."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy, bump_generation, start_generation
from kapi.registry.table import NAME, Column
from kapi.resources.podspec.defaults import default_pod_template
from kapi.resources.podspec.disabled import drop_disabled_template_fields
from kapi.resources.podspec.validation import validate_pod_template
from kapi.resources.podspec.warnings import template_warnings


def default(new: Object) -> None:
    default_pod_template(new.setdefault("template", {}))


def prepare_for_create(_: Call, new: Object) -> None:
    start_generation(new)
    drop_disabled_template_fields(new["template"])


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    drop_disabled_template_fields(new["template"], old["template"])
    bump_generation(new, old, "template")


def validate(call: Call, new: Object) -> list[FieldError]:
    return validate_pod_template(call, new["template"], "template")


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    return validate_pod_template(call, new["template"], "template", old["template"])


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    if old is not None and new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return template_warnings(new["template"], "template")


def _containers(decoded: Object, field: str) -> str:
    containers = ((decoded.get("template") or {}).get("spec") or {}).get("containers") or ()
    return ",".join(c.get(field, "") for c in containers)


def _labels(decoded: Object) -> str:
    labels = ((decoded.get("template") or {}).get("metadata") or {}).get("labels")
    return ",".join(f"{k}={labels[k]}" for k in sorted(labels)) if labels else "<none>"


RESOURCE = Resource(
    group="",
    version="v1",
    kind="PodTemplate",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
    ),
    columns=(
        NAME,
        Column("Containers", lambda decoded: _containers(decoded, "name")),
        Column("Images", lambda decoded: _containers(decoded, "image")),
        Column("Pod Labels", _labels),
    ),
    returns_deleted=True,
)
