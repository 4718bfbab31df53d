"""HorizontalPodAutoscalers: how many replicas, by what metrics. Stored as autoscaling/v2; v1 is a view of that."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, required
from kapi.api.gvk import GroupResource, GroupVersionKind
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Conversion, Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, keep_spec, keep_status, start_generation
from kapi.registry.table import AGE, NAME, Column
from kapi.registry.versions import between
from kapi.resources.autoscaling.behavior import default_behavior, validate_behavior
from kapi.resources.autoscaling.conversion import CPU_UTILIZATION, cpu_metric, drop_annotations, from_v2, to_v2
from kapi.resources.autoscaling.metrics import metrics_text, validate_metrics, validate_reference, version_problem
from kapi.resources.workload.columns import nested
from kapi.resources.workload.rules import nonnegative, nonnegative_fields


def default(new: Object) -> None:
    drop_annotations(new["metadata"])
    spec = new["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        spec["metrics"] = [cpu_metric(CPU_UTILIZATION)]
    if spec.get("behavior") is not None:
        default_behavior(spec["behavior"])


def default_v1(new: Object) -> None:
    """Its metrics are given when it is converted, which knows of all of them."""
    new["spec"].setdefault("minReplicas", 1)


def canonicalize(new: Object) -> None:
    """What v1 had in an annotation is stored as v2, and read with v2's defaults."""
    if new["spec"].get("behavior") is not None:
        default_behavior(new["spec"]["behavior"])


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"desiredReplicas": 0, "currentMetrics": None}
    start_generation(new)


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    bump_generation(new, old)


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new["spec"]
    return _validate_spec(spec, any_target_version=False, any_metric_version=False)


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    """A reference that was accepted before stays accepted."""
    target, former = new["spec"]["scaleTargetRef"], old["spec"]["scaleTargetRef"]
    same = all(target.get(field) == former.get(field) for field in ("apiVersion", "kind"))
    described = [
        metric["object"]["describedObject"].get("apiVersion", "")
        for metric in old["spec"].get("metrics") or ()
        if metric.get("type") == "Object" and metric.get("object") is not None
    ]
    tolerant = any(version_problem(version, any_group=True) for version in described)
    return _validate_spec(new["spec"], any_target_version=same, any_metric_version=tolerant)


def _validate_spec(spec: Object, *, any_target_version: bool, any_metric_version: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    least, most, target = spec.get("minReplicas"), spec.get("maxReplicas", 0), spec["scaleTargetRef"]
    if least is not None and most < least:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to `minReplicas`"))
    errors += validate_reference(
        target,
        "spec.scaleTargetRef",
        # The only scalable kind of the core group.
        any_group=target.get("kind") == "ReplicationController",
        any_version=any_target_version,
    )
    errors += validate_metrics(spec.get("metrics") or [], "spec.metrics", least, any_version=any_metric_version)
    if spec.get("behavior") is not None:
        errors += validate_behavior(spec["behavior"], "spec.behavior")
    # As upstream: what its schema declares is checked last.
    errors += nonnegative(least, "spec.minReplicas")
    if most == 0:
        errors.append(required("spec.maxReplicas"))
    elif most < 0:
        errors.append(invalid("spec.maxReplicas", most, "must be greater than or equal to 1"))
    return errors


def validate_status(_: Call, new: Object, __: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors: list[FieldError] = []
    for i, condition in enumerate(status.get("conditions") or ()):
        errors += nonnegative(condition.get("observedGeneration"), f"status.conditions[{i}].observedGeneration")
    return errors + nonnegative_fields(status, "status", "currentReplicas", "desiredReplicas")


def reference(decoded: Object) -> str:
    target = decoded["spec"]["scaleTargetRef"]
    return f"{target.get('kind', '')}/{target.get('name', '')}"


def targets(decoded: Object) -> str:
    return metrics_text(decoded["spec"].get("metrics") or [], nested(decoded, "status", "currentMetrics") or [])


def least_pods(decoded: Object) -> str:
    least = decoded["spec"].get("minReplicas")
    return "<unset>" if least is None else str(least)


_STRATEGY = Strategy(
    default=default,
    prepare_for_create=prepare_for_create,
    validate=validate,
    prepare_for_update=prepare_for_update,
    validate_update=validate_update,
    reset=excluding("status"),
)
_STATUS = Subresource(
    strategy=Strategy(prepare_for_update=keep_spec, validate_update=validate_status, reset=excluding("spec"))
)
_COLUMNS = (
    NAME,
    Column("Reference", reference),
    Column("Targets", targets),
    Column("MinPods", least_pods),
    Column("MaxPods", lambda decoded: decoded["spec"].get("maxReplicas", 0)),
    Column("Replicas", lambda decoded: nested(decoded, "status", "currentReplicas") or 0),
    AGE,
)

_CONVERSION = Conversion(
    stored=GroupVersionKind("autoscaling", "v2", "HorizontalPodAutoscaler"),
    stored_resource=GroupResource("autoscaling", "horizontalpodautoscalers"),
    to_stored=to_v2,
    from_stored=from_v2,
)
_CONVERT = between(GroupVersionKind("autoscaling", "v1", "HorizontalPodAutoscaler"), _CONVERSION)

RESOURCE = Resource(
    group="autoscaling",
    version="v2",
    kind="HorizontalPodAutoscaler",
    strategy=_STRATEGY,
    subresources={"status": _STATUS},
    columns=_COLUMNS,
    convert=_CONVERT,
)

RESOURCE_V1 = Resource(
    group="autoscaling",
    version="v1",
    kind="HorizontalPodAutoscaler",
    strategy=Strategy(
        default=default_v1,
        prepare_for_create=prepare_for_create,
        validate=validate,
        prepare_for_update=prepare_for_update,
        validate_update=validate_update,
        canonicalize=canonicalize,
        reset=excluding("status"),
    ),
    subresources={"status": _STATUS},
    columns=_COLUMNS,
    conversion=_CONVERSION,
    convert=_CONVERT,
)
