"""ReplicationControllers: so many pods of one template; the elder of replica sets."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, required
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.metadata import declared_name
from kapi.registry.resource import Resource, Subresource, metadata_fields
from kapi.registry.strategy import Strategy, bump_generation, keep_spec, keep_status, start_generation
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.autoscaling import scale
from kapi.resources.podspec.defaults import default_pod_template
from kapi.resources.podspec.disabled import drop_disabled_template_fields
from kapi.resources.podspec.validation import validate_pod_template
from kapi.resources.podspec.warnings import template_warnings
from kapi.resources.workload.columns import containers, count, labels_text, nested
from kapi.resources.workload.rules import name_warnings, nonnegative_fields, validate_replica_status
from kapi.resources.workload.selectors import MISMATCH, always_restarting, labels_of, shown_labels


def default(new: Object) -> None:
    """What the template's pods are labelled with selects them, and labels the controller."""
    spec = new["spec"]
    template = spec.get("template")
    if template is None:
        return
    default_pod_template(template)
    labels = labels_of(template)
    if labels is not None:
        if not spec.get("selector"):
            spec["selector"] = dict(labels)
        if not new["metadata"].get("labels"):
            new["metadata"]["labels"] = dict(labels)


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"replicas": 0}
    start_generation(new)
    drop_disabled_template_fields(new["spec"].get("template") or {})


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    drop_disabled_template_fields(new["spec"].get("template") or {}, old["spec"].get("template"))
    bump_generation(new, old)


def validate(call: Call, new: Object) -> list[FieldError]:
    return _validate_spec(call, new["spec"], None) + declared_name(new) + _declared(new["spec"])


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate_spec(call, new["spec"], old["spec"]) + _declared(new["spec"])


def _validate_spec(call: Call, spec: Object, old: Object | None) -> list[FieldError]:
    selector, template = spec.get("selector") or {}, spec.get("template")
    errors: list[FieldError] = [] if selector else [required("spec.selector")]
    if template is None:
        errors.append(required("spec.template"))
    else:
        if not selector.items() <= (labels_of(template) or {}).items():
            errors.append(invalid("spec.template.metadata.labels", shown_labels(template), MISMATCH))
        errors += validate_pod_template(call, template, "spec.template", old and old.get("template"))
        errors += always_restarting(template, "ReplicationController")
    return errors


def _declared(spec: Object) -> list[FieldError]:
    """As upstream: what its schema declares is checked last."""
    return nonnegative_fields(spec, "spec", "replicas", "minReadySeconds")


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    if old is None:
        template = new["spec"].get("template") or {}
        return name_warnings(new["metadata"]["name"]) + template_warnings(template, "spec.template")
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    # As upstream, which takes the old template for the new one.
    return template_warnings(old["spec"].get("template") or {}, "spec.template")


def validate_status(_: Call, new: Object, __: Object) -> list[FieldError]:
    return validate_replica_status(new.get("status") or {})


def fields_of(decoded: Object) -> dict[str, str]:
    return {**metadata_fields(decoded), "status.replicas": str(nested(decoded, "status", "replicas") or 0)}


STRATEGY = Strategy(
    default=default,
    prepare_for_create=prepare_for_create,
    validate=validate,
    prepare_for_update=prepare_for_update,
    validate_update=validate_update,
    validate_name=lambda _: [],
    warnings=warnings,
    orphan_by_default=True,
    reset=excluding("status"),
)

RESOURCE = Resource(
    group="",
    version="v1",
    kind="ReplicationController",
    prefix="controllers",
    strategy=STRATEGY,
    subresources={
        "scale": Subresource(strategy=STRATEGY, view=scale.VIEW),
        "status": Subresource(
            strategy=Strategy(prepare_for_update=keep_spec, validate_update=validate_status, reset=excluding("spec"))
        ),
    },
    columns=(
        NAME,
        count("Desired", "spec", "replicas"),
        count("Current", "status", "replicas"),
        count("Ready", "status", "readyReplicas"),
        AGE,
        *containers("spec", "template"),
        Column("Selector", lambda decoded: labels_text(nested(decoded, "spec", "selector")), priority=1),
    ),
    fields_of=fields_of,
    field_names=("status.replicas",),
)
