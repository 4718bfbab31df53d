"""Deployments: replicated pods, and how they are replaced by newer ones."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, copy_field, keep_status, start_generation
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.autoscaling import scale
from kapi.resources.podspec.defaults import default_pod_template
from kapi.resources.podspec.disabled import drop_disabled_template_fields
from kapi.resources.workload.columns import containers, nested, selector
from kapi.resources.workload.rules import (
    amount,
    at_most_all,
    nonnegative,
    nonnegative_fields,
    not_above,
    not_decremented,
    positive_int_or_percent,
    shown_strategy,
)
from kapi.resources.workload.selectors import fixed_selector, validate_selected_template
from kapi.resources.workload.warnings import workload_warnings

_EMPTY = "empty selector is invalid for deployment"
_UNUSABLE = "invalid label selector"


def default(new: Object) -> None:
    spec = new["spec"]
    spec.setdefault("replicas", 1)
    strategy = spec["strategy"]
    kind = strategy.get("type") or "RollingUpdate"
    strategy["type"] = kind
    if kind == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    spec.setdefault("revisionHistoryLimit", 10)
    spec.setdefault("progressDeadlineSeconds", 600)
    default_pod_template(spec["template"])


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}
    start_generation(new)
    drop_disabled_template_fields(new["spec"]["template"])


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    drop_disabled_template_fields(new["spec"]["template"], old["spec"]["template"])
    # Annotations are copied to the replica sets, so they are wanted state as well.
    annotations = (new["metadata"].get("annotations") or {}) != (old["metadata"].get("annotations") or {})
    if annotations or new["spec"] != old["spec"]:
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


def validate(call: Call, new: Object) -> list[FieldError]:
    return _validate_spec(call, new["spec"], None)


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = _validate_spec(call, new["spec"], old["spec"])
    return errors + fixed_selector(new["spec"], old["spec"])


def _validate_spec(call: Call, spec: Object, old: Object | None) -> list[FieldError]:
    errors = nonnegative(spec.get("replicas"), "spec.replicas")
    errors += validate_selected_template(call, spec, old, "ReplicaSet", empty=_EMPTY, unusable=_UNUSABLE)
    errors += _validate_strategy(spec["strategy"], "spec.strategy")
    errors += nonnegative_fields(spec, "spec", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds")
    deadline = spec.get("progressDeadlineSeconds")
    if deadline is not None and deadline <= spec.get("minReadySeconds", 0):
        errors.append(invalid("spec.progressDeadlineSeconds", deadline, "must be greater than minReadySeconds"))
    return errors


def _validate_strategy(strategy: Object, path: str) -> list[FieldError]:
    kind, rolling = strategy.get("type"), strategy.get("rollingUpdate")
    if kind == "Recreate":
        why = "may not be specified when strategy `type` is 'Recreate'"
        return [forbidden(f"{path}.rollingUpdate", why)] if rolling is not None else []
    if kind == "RollingUpdate":
        if rolling is None:
            return [required(f"{path}.rollingUpdate", "this should be defaulted and never be nil")]
        return _validate_rolling(rolling, f"{path}.rollingUpdate")
    return [not_supported(path, shown_strategy(strategy), ["Recreate", "RollingUpdate"], in_order=True)]


def _validate_rolling(rolling: Object, path: str) -> list[FieldError]:
    unavailable, surge = rolling.get("maxUnavailable"), rolling.get("maxSurge")
    errors = positive_int_or_percent(unavailable, f"{path}.maxUnavailable")
    errors += positive_int_or_percent(surge, f"{path}.maxSurge")
    if not amount(unavailable) and not amount(surge):
        errors.append(invalid(f"{path}.maxUnavailable", unavailable, "may not be 0 when `maxSurge` is 0"))
    return errors + at_most_all(unavailable, f"{path}.maxUnavailable")


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")
    copy_field(new["metadata"], old["metadata"], "labels")


def validate_status(_: Call, new: Object, old: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors = nonnegative_fields(
        status,
        "status",
        "observedGeneration",
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
        "unavailableReplicas",
        "terminatingReplicas",
        "collisionCount",
    )
    parts = ("updatedReplicas", "readyReplicas", "availableReplicas")
    errors += not_above(status, "status", "replicas", "cannot be greater than status.replicas", *parts)
    errors += not_above(status, "status", "readyReplicas", "cannot be greater than readyReplicas", "availableReplicas")
    return errors + not_decremented(status, old.get("status") or {}, "status", "collisionCount")


def ready(decoded: Object) -> str:
    return f"{nested(decoded, 'status', 'readyReplicas') or 0}/{nested(decoded, 'spec', 'replicas') or 0}"


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
    kind="Deployment",
    strategy=STRATEGY,
    subresources={
        "scale": Subresource(strategy=STRATEGY, view=scale.VIEW),
        "status": Subresource(
            strategy=Strategy(
                prepare_for_update=prepare_for_status_update,
                validate_update=validate_status,
                reset=excluding("spec", "metadata.labels"),
            )
        ),
    },
    columns=(
        NAME,
        Column("Ready", ready),
        Column("Up-to-date", lambda decoded: nested(decoded, "status", "updatedReplicas") or 0),
        Column("Available", lambda decoded: nested(decoded, "status", "availableReplicas") or 0),
        AGE,
        *containers("spec", "template"),
        selector("spec", "selector", empty=""),
    ),
)
