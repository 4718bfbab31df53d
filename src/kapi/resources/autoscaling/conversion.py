"""autoscaling/v1 and back: what v1 has no fields for is kept in annotations, as it always was."""

from __future__ import annotations

from typing import Any

import orjson

from kapi.api.objects import Object
from kapi.resources.autoscaling.old_metrics import metric_from_v1, metric_to_v1, status_from_v1, status_to_v1
from kapi.schema.compile import decode
from kapi.schema.errors import TypeMismatch
from kapi.schema.loader import type_of

_PREFIX = "autoscaling.alpha.kubernetes.io/"
METRICS = _PREFIX + "metrics"
CURRENT_METRICS = _PREFIX + "current-metrics"
CONDITIONS = _PREFIX + "conditions"
BEHAVIOR = _PREFIX + "behavior"
_ANNOTATIONS = (
    METRICS,
    CURRENT_METRICS,
    CONDITIONS,
    BEHAVIOR,
    f"{_PREFIX}scale-down-tolerance",
    f"{_PREFIX}scale-up-tolerance",
)
CPU_UTILIZATION = 80


def cpu_metric(utilization: int) -> Object:
    target = {"type": "Utilization", "averageUtilization": utilization}
    return {"type": "Resource", "resource": {"name": "cpu", "target": target}}


def to_v2(old: Object) -> Object:
    """The stored form of a v1 autoscaler."""
    metadata, annotations = _without_annotations(old["metadata"])
    spec, status = old["spec"], old.get("status") or {}
    new_spec: Object = {"scaleTargetRef": spec["scaleTargetRef"]}
    _copy(new_spec, spec, "minReplicas", "maxReplicas")
    metrics = _read_list(annotations.get(METRICS), metric_from_v1, lambda found: {"spec": {"metrics": found}})
    if spec.get("targetCPUUtilizationPercentage") is not None:
        metrics = [*(metrics or []), cpu_metric(spec["targetCPUUtilizationPercentage"])]
    new_spec["metrics"] = metrics or [cpu_metric(CPU_UTILIZATION)]
    behavior = _read_behavior(annotations.get(BEHAVIOR))
    if behavior:
        new_spec["behavior"] = behavior
    return {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v2",
        "metadata": metadata,
        "spec": new_spec,
        "status": _status_to_v2(status, annotations),
    }


def _status_to_v2(status: Object, annotations: Object) -> Object:
    new: Object = {}
    _copy(new, status, "observedGeneration", "lastScaleTime")
    if status.get("currentReplicas"):
        new["currentReplicas"] = status["currentReplicas"]
    new["desiredReplicas"] = status.get("desiredReplicas", 0)
    current = _read_list(
        annotations.get(CURRENT_METRICS), status_from_v1, lambda found: {"status": {"currentMetrics": found}}
    )
    if current is None and status.get("currentCPUUtilizationPercentage") is not None:
        used = {"averageUtilization": status["currentCPUUtilizationPercentage"]}
        current = [{"type": "Resource", "resource": {"name": "cpu", "current": used}}]
    new["currentMetrics"] = current
    conditions = _read_list(annotations.get(CONDITIONS), dict, lambda found: {"status": {"conditions": found}})
    if conditions:
        new["conditions"] = conditions
    return new


def from_v2(stored: Object) -> Object:
    """A stored autoscaler as v1 shows it."""
    metadata, _ = _without_annotations(stored["metadata"])
    spec, status = stored["spec"], stored.get("status") or {}
    added = _annotations(spec, status)
    if added:
        metadata["annotations"] = {**(metadata.get("annotations") or {}), **added}
    new_spec: Object = {"scaleTargetRef": spec["scaleTargetRef"]}
    _copy(new_spec, spec, "minReplicas", "maxReplicas")
    for metric in spec.get("metrics") or ():
        if _is_cpu_utilization(metric):
            new_spec["targetCPUUtilizationPercentage"] = metric["resource"]["target"]["averageUtilization"]
            break
    new_status: Object = {}
    _copy(new_status, status, "observedGeneration", "lastScaleTime")
    new_status["currentReplicas"] = status.get("currentReplicas", 0)
    new_status["desiredReplicas"] = status.get("desiredReplicas", 0)
    for metric in status.get("currentMetrics") or ():
        resource = metric.get("resource") or {}
        used = (resource.get("current") or {}).get("averageUtilization")
        if metric.get("type") == "Resource" and resource.get("name") == "cpu" and used is not None:
            new_status["currentCPUUtilizationPercentage"] = used
    return {
        "kind": "HorizontalPodAutoscaler",
        "apiVersion": "autoscaling/v1",
        "metadata": metadata,
        "spec": new_spec,
        "status": new_status,
    }


def _annotations(spec: Object, status: Object) -> dict[str, str]:
    found: dict[str, Any] = {}
    others = [metric_to_v1(m) for m in spec.get("metrics") or () if not _is_cpu_utilization(m)]
    if others:
        found[METRICS] = others
    if status.get("currentMetrics"):
        found[CURRENT_METRICS] = [status_to_v1(m) for m in status["currentMetrics"]]
    if spec.get("behavior") is not None:
        found[BEHAVIOR] = _shown_behavior(spec["behavior"])
    if status.get("conditions"):
        found[CONDITIONS] = [_condition(c) for c in status["conditions"]]
    return {key: orjson.dumps(value).decode() for key, value in found.items()}


def _is_cpu_utilization(metric: Object) -> bool:
    resource = metric.get("resource") or {}
    utilization = (resource.get("target") or {}).get("averageUtilization")
    return metric.get("type") == "Resource" and resource.get("name") == "cpu" and utilization is not None


def _condition(condition: Object) -> Object:
    fields = ("type", "status", "lastTransitionTime", "reason", "message", "observedGeneration")
    always = {"type": "", "status": "", "lastTransitionTime": None}
    return {f: condition.get(f, always.get(f)) for f in fields if f in always or condition.get(f)}


def _shown_behavior(behavior: Object) -> Object:
    # As upstream, which writes its internal type here: Go's names, and null for what is not set.
    return {
        name: _shown_rules(behavior.get(field)) for name, field in (("ScaleUp", "scaleUp"), ("ScaleDown", "scaleDown"))
    }


def _shown_rules(rules: Object | None) -> Object | None:
    if rules is None:
        return None
    policies = [
        {"Type": p.get("type", ""), "Value": p.get("value", 0), "PeriodSeconds": p.get("periodSeconds", 0)}
        for p in rules.get("policies") or ()
    ]
    return {
        "StabilizationWindowSeconds": rules.get("stabilizationWindowSeconds"),
        "SelectPolicy": rules.get("selectPolicy"),
        "Policies": policies or None,
        "Tolerance": rules.get("tolerance"),
    }


def _read_behavior(text: str | None) -> Object | None:
    value = _json(text)
    if not isinstance(value, dict):
        return None
    behavior = _renamed(value)
    return behavior if behavior and _fits({"spec": {"behavior": behavior}}) else None


def _renamed(value: Any) -> Any:
    """By v2's names, and without what is null: Go reads names in any case."""
    if isinstance(value, dict):
        return {_NAMES.get(k.lower(), k): _renamed(v) for k, v in value.items() if v is not None}
    return [_renamed(v) for v in value] if isinstance(value, list) else value


_NAMES = {
    name.lower(): name
    for name in (
        "scaleUp",
        "scaleDown",
        "stabilizationWindowSeconds",
        "selectPolicy",
        "policies",
        "tolerance",
        "type",
        "value",
        "periodSeconds",
    )
}


def _read_list(text: str | None, convert: Any, placed: Any) -> list[Object] | None:
    """What an annotation says, or None when it says nothing that can be understood."""
    value = _json(text)
    if not isinstance(value, list):
        return None
    try:
        found = [convert(item) for item in value]
    except (AttributeError, TypeError, ValueError):
        return None
    return found if _fits(placed(found)) else None


def _fits(partial: Object) -> bool:
    """Whether this is what v2 allows there; it is brought into v2's shape."""
    try:
        decode(type_of("autoscaling", "v2", "HorizontalPodAutoscaler"), partial)
    except TypeMismatch:
        return False
    return True


def _json(text: str | None) -> Any:
    try:
        return orjson.loads(text) if text is not None else None
    except orjson.JSONDecodeError:
        return None


def _without_annotations(metadata: Object) -> tuple[Object, Object]:
    """The metadata without the annotations that stand for fields, and those."""
    annotations = metadata.get("annotations") or {}
    taken = {key: annotations[key] for key in _ANNOTATIONS if key in annotations}
    kept = dict(metadata)
    if taken:
        rest = {key: value for key, value in annotations.items() if key not in taken}
        kept.pop("annotations")
        if rest:
            kept["annotations"] = rest
    return kept, taken


def drop_annotations(metadata: Object) -> None:
    """What v1 would read as fields is nothing to v2, which has the fields."""
    annotations = metadata.get("annotations")
    if annotations and any(key in annotations for key in _ANNOTATIONS):
        rest = {key: value for key, value in annotations.items() if key not in _ANNOTATIONS}
        if rest:
            metadata["annotations"] = rest
        else:
            del metadata["annotations"]


def _copy(target: Object, source: Object, *fields: str) -> None:
    for field in fields:
        if source.get(field) is not None:
            target[field] = source[field]
