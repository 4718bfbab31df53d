"""ReplicaSets: so many pods of one template."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, keep_spec, keep_status, start_generation
from kapi.registry.table import AGE, NAME
from kapi.resources.autoscaling import scale
from kapi.resources.podspec.defaults import default_pod_template
from kapi.resources.podspec.disabled import drop_disabled_template_fields
from kapi.resources.workload.columns import containers, count, selector
from kapi.resources.workload.rules import nonnegative_fields, validate_replica_status
from kapi.resources.workload.selectors import fixed_selector, validate_selected_template
from kapi.resources.workload.warnings import workload_warnings

# As upstream, which says "deployment" here too.
_EMPTY = "empty selector is invalid for deployment"
_UNUSABLE = "invalid label selector"


def default(new: Object) -> None:
    new["spec"].setdefault("replicas", 1)
    # The template may be left out; its shape is the same then.
    template = new["spec"].setdefault("template", {"metadata": {}, "spec": {"containers": None}})
    default_pod_template(template)


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"replicas": 0}
    start_generation(new)
    drop_disabled_template_fields(new["spec"]["template"])


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    drop_disabled_template_fields(new["spec"]["template"], old["spec"]["template"])
    bump_generation(new, old)


def validate(call: Call, new: Object) -> list[FieldError]:
    return _validate_spec(call, new["spec"], None)


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = _validate_spec(call, new["spec"], old["spec"])
    return errors + fixed_selector(new["spec"], old["spec"])


def _validate_spec(call: Call, spec: Object, old: Object | None) -> list[FieldError]:
    errors = nonnegative_fields(spec, "spec", "replicas", "minReadySeconds")
    return errors + validate_selected_template(call, spec, old, "ReplicaSet", empty=_EMPTY, unusable=_UNUSABLE)


def validate_status(_: Call, new: Object, __: Object) -> list[FieldError]:
    return validate_replica_status(new.get("status") or {})


STRATEGY = Strategy(
    default=default,
    prepare_for_create=prepare_for_create,
    validate=validate,
    prepare_for_update=prepare_for_update,
    validate_update=validate_update,
    warnings=workload_warnings,
    reset=excluding("status"),
)

RESOURCE = Resource(
    group="apps",
    version="v1",
    kind="ReplicaSet",
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
        selector("spec", "selector"),
    ),
)
