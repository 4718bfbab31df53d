"""The status of a job: what it may say, and what it may say next. Controllers of others write it, so all is checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from kapi.api.fields import OMITTED, FieldError, duplicate, go_struct, invalid, required
from kapi.api.objects import Object
from kapi.resources.batch.indexes import BadIndexes, count_indexes, overlap
from kapi.resources.workload.rules import IMMUTABLE, nonnegative_fields


def has_condition(status: Object, kind: str, wanted: str = "True") -> bool:
    return any(c.get("type") == kind and c.get("status") == wanted for c in status.get("conditions") or ())


@dataclass(frozen=True, slots=True)
class _Step:
    """From one status to the next. A rule that the old status already broke is held only against what changes."""

    spec: Object
    new: Object
    old: Object

    def is_(self, kind: str) -> bool:
        return has_condition(self.new, kind)

    def was(self, kind: str) -> bool:
        return has_condition(self.old, kind)

    @property
    def finished(self) -> bool:
        return self.is_("Complete") or self.is_("Failed")

    def turned(self, *kinds: str) -> bool:
        return any(self.is_(kind) != self.was(kind) for kind in kinds)

    def finished_changed(self) -> bool:
        return self.finished != (self.was("Complete") or self.was("Failed"))

    def changed(self, *fields: str, absent: Any = None) -> bool:
        return any((self.new.get(f) or absent) != (self.old.get(f) or absent) for f in fields)


def validate_job_status(spec: Object, new: Object, old: Object) -> list[FieldError]:
    step = _Step(spec, new, old)
    errors = nonnegative_fields(new, "status", "active", "succeeded", "failed", "ready", "terminating")
    errors += _uncounted(new.get("uncountedTerminatedPods") or {})
    errors += _completion(step) + _finish(step) + _indexes(step) + _counts(step) + _criteria(step)
    return errors + _transition(step)


def _wrong(detail: str) -> FieldError:
    return invalid("status.conditions", OMITTED, detail)


def _uncounted(pods: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for field in ("succeeded", "failed"):
        for i, uid in enumerate(pods.get(field) or ()):
            path = f"status.uncountedTerminatedPods.{field}[{i}]"
            if not uid:
                errors.append(invalid(path, uid, "must not be empty"))
            elif uid in seen:
                errors.append(duplicate(path, uid))
            seen.add(uid)
    return errors


def _completion(step: _Step) -> list[FieldError]:
    errors: list[FieldError] = []
    complete = step.is_("Complete")
    if step.turned("Complete", "Failed") and complete and step.is_("Failed"):
        errors.append(_wrong("cannot set Complete=True and Failed=true conditions"))
    if step.turned("Complete", "FailureTarget") and complete and step.is_("FailureTarget"):
        errors.append(_wrong("cannot set Complete=True and FailureTarget=true conditions"))
    start, end = step.new.get("startTime"), step.new.get("completionTime")
    if step.turned("Complete") or step.changed("completionTime"):
        if end is not None and not complete:
            why = "cannot set completionTime when there is no Complete=True condition"
            errors.append(invalid("status.completionTime", end, why))
        if end is None and complete:
            errors.append(required("status.completionTime", "completionTime is required for Complete jobs"))
    # Both are in UTC and of one form, so their texts compare as they do.
    if step.changed("startTime", "completionTime") and start is not None and end is not None and end < start:
        errors.append(invalid("status.completionTime", end, "must be equal to or after `startTime`"))
    return errors


def _finish(step: _Step) -> list[FieldError]:
    errors: list[FieldError] = []
    if (
        (step.turned("Failed") or step.changed("failedIndexes"))
        and step.is_("Failed")
        and not step.is_("FailureTarget")
    ):
        errors.append(_wrong("cannot set Failed=True condition without the FailureTarget=true condition"))
    if step.turned("Complete", "SuccessCriteriaMet") and step.is_("Complete") and not step.is_("SuccessCriteriaMet"):
        errors.append(_wrong("cannot set Complete=True condition without the SuccessCriteriaMet=true condition"))
    if not step.finished:
        return errors
    finishing = step.finished_changed()
    if (finishing or step.changed("active", absent=0)) and step.new.get("active", 0) > 0:
        errors.append(invalid("status.active", step.new["active"], "active>0 is invalid for finished job"))
    nothing_to_do = step.spec.get("suspend") is True and step.spec.get("completions") == 0
    if (finishing or step.changed("startTime")) and not nothing_to_do and step.new.get("startTime") is None:
        errors.append(required("status.startTime", "startTime is required for finished job"))
    pods = step.new.get("uncountedTerminatedPods") or {}
    if (finishing or step.changed("uncountedTerminatedPods")) and (pods.get("failed") or pods.get("succeeded")):
        errors.append(invalid("status.uncountedTerminatedPods", go_struct(pods), "must be empty for finished job"))
    return errors


def _indexes(step: _Step) -> list[FieldError]:
    errors: list[FieldError] = []
    completions = step.spec.get("completions")
    per_index = step.spec.get("backoffLimitPerIndex") is not None
    completed, failed = step.new.get("completedIndexes") or "", step.new.get("failedIndexes")
    completed_changed = step.changed("completedIndexes", absent="")
    failed_changed = failed != step.old.get("failedIndexes")

    def check(field: str, text: str) -> None:
        try:
            count_indexes(text, completions or 0)
        except BadIndexes as error:
            errors.append(invalid(f"status.{field}", text, f"error parsing {field}: {error}"))

    if completed_changed and completions is not None:
        check("completedIndexes", completed)
    if failed_changed and completions is not None and per_index and failed is not None:
        check("failedIndexes", failed)
    if completed_changed and completed and step.spec.get("completionMode") != "Indexed":
        why = "cannot set non-empty completedIndexes when non-indexed completion mode"
        errors.append(invalid("status.completedIndexes", completed, why))
    if failed_changed and failed is not None and not per_index:
        why = "cannot set non-null failedIndexes when backoffLimitPerIndex is null"
        errors.append(invalid("status.failedIndexes", failed, why))
    if (failed_changed or completed_changed) and completions is not None and failed is not None:
        common = overlap(completed, failed, completions)
        if common is not None:
            why = f"failedIndexes and completedIndexes overlap at index: {common}"
            errors.append(invalid("status.failedIndexes", failed, why))
    return errors


def _counts(step: _Step) -> list[FieldError]:
    errors: list[FieldError] = []
    terminating, ready = step.new.get("terminating"), step.new.get("ready")
    if (step.finished_changed() or step.changed("terminating")) and terminating and terminating > 0 and step.finished:
        errors.append(invalid("status.terminating", terminating, "terminating>0 is invalid for finished job"))
    moved = step.changed("ready") or step.changed("active", absent=0)
    if moved and ready is not None and ready > step.new.get("active", 0):
        errors.append(invalid("status.ready", ready, "cannot set more ready pods than active"))
    return errors


def _criteria(step: _Step) -> list[FieldError]:
    errors: list[FieldError] = []
    met = step.is_("SuccessCriteriaMet")
    if met and step.is_("Failed"):
        errors.append(_wrong("cannot set SuccessCriteriaMet=True and Failed=true conditions"))
    if met and step.is_("FailureTarget"):
        errors.append(_wrong("cannot set SuccessCriteriaMet=True and FailureTarget=true conditions"))
    if step.spec.get("successPolicy") is not None and not met and step.is_("Complete"):
        errors.append(_wrong("cannot set Complete=True for Job with SuccessPolicy unless SuccessCriteriaMet=True"))
    return errors


def _transition(step: _Step) -> list[FieldError]:
    spec, new, old = step.spec, step.new, step.old
    errors = [
        _wrong(f"cannot disable the terminal {kind}=True condition")
        for kind in ("Failed", "Complete", "FailureTarget")
        if step.was(kind) and not step.is_(kind)
    ]
    if new.get("failed", 0) < old.get("failed", 0):
        errors.append(invalid("status.failed", new.get("failed", 0), "cannot decrease the failed counter"))
    # An indexed job with as many pods as completions can be scaled down.
    elastic = spec.get("completionMode") == "Indexed" and spec.get("completions") == spec.get("parallelism")
    if not elastic and new.get("succeeded", 0) < old.get("succeeded", 0):
        errors.append(invalid("status.succeeded", new.get("succeeded", 0), "cannot decrease the succeeded counter"))
    end, former = new.get("completionTime"), old.get("completionTime")
    if end is not None and former is not None and end != former:
        errors.append(invalid("status.completionTime", end, IMMUTABLE))
    resuming = step.was("Suspended") and has_condition(new, "Suspended", "False")
    start, began = new.get("startTime"), old.get("startTime")
    if began is not None and start != began and not resuming and not spec.get("suspend"):
        errors.append(invalid("status.startTime", start, "field is immutable for unsuspended job once set"))
    if step.was("SuccessCriteriaMet") and not step.is_("SuccessCriteriaMet"):
        errors.append(_wrong("cannot disable the SuccessCriteriaMet=True condition"))
    if step.was("Complete") and not step.was("SuccessCriteriaMet") and step.is_("SuccessCriteriaMet"):
        errors.append(_wrong("cannot set SuccessCriteriaMet=True for Job already has Complete=true conditions"))
    return errors
