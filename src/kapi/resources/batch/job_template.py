"""The pod template of a job: it stays as it is, but for what a suspended job may still change."""

from __future__ import annotations

from kapi.api.fields import FieldError, go_struct, invalid
from kapi.api.objects import Object
from kapi.resources.batch.job_status import has_condition
from kapi.resources.workload.rules import IMMUTABLE

# Where pods may run is decided when a job is admitted, not before.
_SCHEDULING = ("nodeSelector", "tolerations", "schedulingGates")


def validate_template_update(spec: Object, old: Object) -> list[FieldError]:
    new, former = spec["template"], old["spec"]["template"]
    if not _may_change(old):
        return [] if new == former else [invalid("spec.template", _shown(new), IMMUTABLE)]
    former = _with_scheduling(former, new)
    expected = _with_resources(former["spec"], new["spec"])
    return [] if new["spec"] == expected else [invalid("spec.template.spec", go_struct(new["spec"]), IMMUTABLE)]


def _may_change(old: Object) -> bool:
    """Suspended, and with no pods: it never started, or has come to rest."""
    status = old.get("status") or {}
    rests = status.get("startTime") is None or has_condition(status, "Suspended")
    return bool(old["spec"].get("suspend")) and rests and not status.get("active")


def _with_scheduling(former: Object, new: Object) -> Object:
    """The former template with the new one's scheduling directives."""
    pod = dict(former["spec"])
    for field in _SCHEDULING:
        _take(pod, new["spec"], field)
    affinity = dict(pod.get("affinity") or {})
    _take(affinity, new["spec"].get("affinity") or {}, "nodeAffinity")
    pod.pop("affinity", None)
    if affinity or new["spec"].get("affinity") is not None:
        pod["affinity"] = affinity
    return {"metadata": new.get("metadata") or {}, "spec": pod}


def _with_resources(former: Object, new: Object) -> Object:
    """The former pod spec with the new one's container resources."""
    pod = dict(former)
    for field in ("containers", "initContainers"):
        old, wanted = former.get(field) or [], new.get(field) or []
        if old and len(old) == len(wanted):
            pod[field] = [
                {**a, "resources": b["resources"]} if a["name"] == b["name"] and "resources" in b else a
                for a, b in zip(old, wanted, strict=True)
            ]
    return pod


def _take(target: Object, source: Object, field: str) -> None:
    target.pop(field, None)
    if field in source:
        target[field] = source[field]


def _shown(template: Object) -> Object:
    return {**(template.get("metadata") or {}), "Spec": go_struct(template.get("spec"))}
