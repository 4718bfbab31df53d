"""Jobs: pods that run until so many of them have succeeded."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from kapi.api.call import Call
from kapi.api.fields import FieldError, go_struct, invalid, required
from kapi.api.names import dns_label
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource, metadata_fields
from kapi.registry.strategy import Strategy, bump_generation, keep_spec, keep_status, start_generation
from kapi.registry.table import AGE, NAME, Column, human_duration
from kapi.resources.batch.job_spec import default_spec, drop_disabled, spec_warnings, validate_spec
from kapi.resources.batch.job_status import has_condition, validate_job_status
from kapi.resources.batch.job_template import validate_template_update
from kapi.resources.workload.columns import containers, nested, selector
from kapi.resources.workload.rules import IMMUTABLE, name_warnings
from kapi.resources.workload.selectors import MISMATCH, fixed_selector, labels_of, selects, shown_labels, shown_selector

_UID_LABELS = ("controller-uid", "batch.kubernetes.io/controller-uid")
_NAME_LABELS = ("job-name", "batch.kubernetes.io/job-name")
_ORPHANS = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them "
    "or set propagationPolicy=Orphan to suppress this warning"
)
_STATES = (
    ("Complete", "Complete"),
    ("Failed", "Failed"),
    ("", "Terminating"),
    ("Suspended", "Suspended"),
    ("FailureTarget", "FailureTarget"),
    ("SuccessCriteriaMet", "SuccessCriteriaMet"),
)


def default(new: Object) -> None:
    default_spec(new["spec"])
    _label(new)


def _label(new: Object) -> None:
    """A job without labels has those of its pods: the very same, so that it shares what is added to them."""
    labels = labels_of(new["spec"]["template"])
    if labels is not None and not new["metadata"].get("labels"):
        new["metadata"]["labels"] = labels


def prepare_for_create(_: Call, new: Object) -> None:
    spec = new["spec"]
    if not spec["manualSelector"]:
        _generate_selector(new)
    new["status"] = {}
    start_generation(new)
    drop_disabled(spec, None)


def _generate_selector(new: Object) -> None:
    """What nothing else can select: the job's uid. Labels that the user gave stay, to be refused if they differ."""
    spec, metadata = new["spec"], new["metadata"]
    labels = spec["template"].setdefault("metadata", {}).setdefault("labels", {})
    for key in _NAME_LABELS:
        labels.setdefault(key, metadata.get("name", ""))
    for key in _UID_LABELS:
        labels.setdefault(key, metadata["uid"])
    wanted = spec.get("selector") or {}
    spec["selector"] = wanted
    wanted.setdefault("matchLabels", {}).setdefault(_UID_LABELS[1], metadata["uid"])


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    drop_disabled(new["spec"], old["spec"])
    bump_generation(new, old)


def validate(call: Call, new: Object) -> list[FieldError]:
    return _validate_generated(new) + _validate_spec(call, new["spec"], None) + _validate_indexed_name(new)


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    spec, former = new["spec"], old["spec"]
    errors = _validate_spec(call, spec, former)
    errors += _validate_completions(spec, former)
    errors += fixed_selector(spec, former)
    errors += validate_template_update(spec, old)
    for field in ("completionMode", "podFailurePolicy", "backoffLimitPerIndex", "managedBy", "successPolicy"):
        errors += _fixed(spec, former, field)
    return errors + _validate_indexed_name(new)


def _fixed(spec: Object, former: Object, field: str) -> list[FieldError]:
    if spec.get(field) == former.get(field):
        return []
    return [invalid(f"spec.{field}", go_struct(spec.get(field)), IMMUTABLE)]


def _validate_generated(new: Object) -> list[FieldError]:
    """A generated selector and the labels it selects belong to this job and no other."""
    spec, metadata = new["spec"], new["metadata"]
    if spec["manualSelector"] or spec.get("selector") is None:
        return []
    uid, name = metadata["uid"], metadata.get("name", "")
    labels = labels_of(spec["template"]) or {}
    expected = {
        _UID_LABELS[0]: uid,
        _NAME_LABELS[0]: name,
        _UID_LABELS[1]: uid,
        _NAME_LABELS[1]: name,
    }
    errors = []
    for key, value in expected.items():
        path, why = f"spec.template.metadata.labels[{key}]", f"must be '{value}'"
        if key not in labels:
            errors.append(required(path, why))
        elif labels[key] != value:
            errors.append(invalid(path, shown_labels(spec["template"]), why))
    wanted = spec["selector"]
    if not validate_label_selector(wanted, "spec.selector") and not selects(wanted, expected):
        errors.append(invalid("spec.selector", shown_selector(wanted), "`selector` not auto-generated"))
    return errors


def _validate_spec(call: Call, spec: Object, old: Object | None) -> list[FieldError]:
    errors = validate_spec(call, spec, "spec", old)
    wanted, labels = spec.get("selector"), labels_of(spec["template"])
    problems = [required("spec.selector")] if wanted is None else validate_label_selector(wanted, "spec.selector")
    errors += problems
    if (wanted is None or not problems) and not selects(wanted, labels):
        errors.append(invalid("spec.template.metadata.labels", shown_labels(spec["template"]), MISMATCH))
    return errors


def _validate_completions(spec: Object, former: Object) -> list[FieldError]:
    """An indexed job can grow and shrink, as long as all its indexes run at once."""
    wanted, old = spec.get("completions"), former.get("completions")
    if wanted == old:
        return []
    if spec.get("completionMode") != "Indexed":
        return [invalid("spec.completions", wanted, IMMUTABLE)]
    if wanted is None or wanted == spec.get("parallelism"):
        return []
    return [invalid("spec.completions", wanted, "can only be modified in tandem with spec.parallelism")]


def _validate_indexed_name(new: Object) -> list[FieldError]:
    """Hostnames of the pods end in their index."""
    completions, name = new["spec"].get("completions") or 0, new["metadata"].get("name", "")
    if new["spec"].get("completionMode") != "Indexed" or completions <= 0:
        return []
    longest = f"{name}-{completions - 1}"
    if not dns_label(longest):
        return []
    return [invalid("metadata.name", name, f"will not able to create pod with invalid DNS label: {longest}")]


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    if old is None:
        return name_warnings(new["metadata"]["name"]) + spec_warnings(new["spec"], "spec")
    if new["metadata"].get("generation") == old["metadata"].get("generation"):
        return []
    return spec_warnings(new["spec"], "spec")


def validate_status(_: Call, new: Object, old: Object) -> list[FieldError]:
    return validate_job_status(new["spec"], new.get("status") or {}, old.get("status") or {})


def fields_of(decoded: Object) -> dict[str, str]:
    return {**metadata_fields(decoded), "status.successful": str(nested(decoded, "status", "succeeded") or 0)}


def state(decoded: Object) -> str:
    status, deleted = decoded.get("status") or {}, bool(decoded["metadata"].get("deletionTimestamp"))
    for condition, shown in _STATES:
        if has_condition(status, condition) if condition else deleted:
            return shown
    return "Running"


def completions(decoded: Object) -> str:
    spec, done = decoded["spec"], nested(decoded, "status", "succeeded") or 0
    if spec.get("completions") is not None:
        return f"{done}/{spec['completions']}"
    parallelism = spec.get("parallelism") or 0
    return f"{done}/1 of {parallelism}" if parallelism > 1 else f"{done}/1"


def times(decoded: Object) -> tuple[str | None, str | None]:
    return nested(decoded, "status", "startTime"), nested(decoded, "status", "completionTime")


def duration(value: Any, now: float) -> str:
    start, end = value
    if start is None:
        return ""
    until = now if end is None else datetime.fromisoformat(end).timestamp()
    return human_duration(until - datetime.fromisoformat(start).timestamp())


RESOURCE = Resource(
    group="batch",
    version="v1",
    kind="Job",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        validate=validate,
        prepare_for_update=prepare_for_update,
        validate_update=validate_update,
        warnings=warnings,
        # As upstream, which reads what it stored with defaults: labels that were generated are judged once.
        canonicalize=_label,
        orphan_by_default=True,
        orphan_warning=_ORPHANS,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(prepare_for_update=keep_spec, validate_update=validate_status, reset=excluding("spec"))
        )
    },
    columns=(
        NAME,
        Column("Status", state),
        Column("Completions", completions),
        Column("Duration", times, show=duration),
        AGE,
        *containers("spec", "template"),
        selector("spec", "selector"),
    ),
    fields_of=fields_of,
    field_names=("status.successful",),
    unknown_field='field label "{}" not supported for Job',
)
