"""CronJobs: jobs made by a schedule."""

from __future__ import annotations

from typing import Any

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, keep_spec, keep_status, start_generation
from kapi.registry.table import AGE, NAME, Column, age, field_value
from kapi.resources.batch.job_spec import default_template, drop_disabled, spec_warnings, validate_spec
from kapi.resources.batch.schedule import ScheduleError, check_schedule
from kapi.resources.batch.zones import validate_time_zone
from kapi.resources.workload.columns import containers, nested, selector
from kapi.resources.workload.rules import name_warnings, nonnegative_fields

# A job's name is the cron job's, a dash and ten digits; a job's name is at most 63 long.
_LONGEST_NAME = 63 - 11
_JOB = "spec.jobTemplate.spec"
_POLICIES = ("Allow", "Forbid", "Replace")
_DOCS = "https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/"


def default(new: Object) -> None:
    spec = new["spec"]
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    default_template(spec["jobTemplate"]["spec"])


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}
    start_generation(new)
    drop_disabled(new["spec"]["jobTemplate"]["spec"], None)


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    drop_disabled(new["spec"]["jobTemplate"]["spec"], old["spec"]["jobTemplate"]["spec"])
    bump_generation(new, old)


def validate(call: Call, new: Object) -> list[FieldError]:
    errors = _validate_spec(call, new["spec"], None)
    name = new["metadata"].get("name", "")
    if len(name) > _LONGEST_NAME:
        errors.append(invalid("metadata.name", name, f"must be no more than {_LONGEST_NAME} characters"))
    return errors + _validate_presence(new["spec"])


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate_spec(call, new["spec"], old["spec"]) + _validate_presence(new["spec"])


def _validate_presence(spec: Object) -> list[FieldError]:
    """As upstream: what its schema declares is checked last."""
    return [] if spec.get("schedule") else [required("spec.schedule")]


def _validate_spec(call: Call, spec: Object, old: Object | None) -> list[FieldError]:
    errors: list[FieldError] = []
    if spec.get("schedule"):
        errors += _validate_schedule(spec, old)
    errors += nonnegative_fields(spec, "spec", "startingDeadlineSeconds")
    zone = spec.get("timeZone")
    if zone is not None and (old is None or old.get("timeZone") != zone):
        errors += validate_time_zone(zone, "spec.timeZone")
    policy = spec.get("concurrencyPolicy")
    if policy not in _POLICIES:
        errors.append(not_supported("spec.concurrencyPolicy", policy, _POLICIES))
    job = spec["jobTemplate"]["spec"]
    errors += validate_spec(call, job, _JOB, old and old["jobTemplate"]["spec"])
    if job.get("selector") is not None:
        errors.append(invalid(f"{_JOB}.selector", job["selector"], "`selector` will be auto-generated"))
    if job.get("manualSelector"):
        errors.append(not_supported(f"{_JOB}.manualSelector", True, ["nil", "false"], in_order=True))
    return errors + nonnegative_fields(spec, "spec", "successfulJobsHistoryLimit", "failedJobsHistoryLimit")


def _validate_schedule(spec: Object, old: Object | None) -> list[FieldError]:
    schedule: str = spec["schedule"]
    errors: list[FieldError] = []
    try:
        check_schedule(schedule)
    except ScheduleError as error:
        errors.append(invalid("spec.schedule", schedule, str(error)))
    if "TZ" not in schedule:
        return errors
    if old is None or "TZ" not in old.get("schedule", ""):
        why = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
        errors.append(invalid("spec.schedule", schedule, why))
    elif spec.get("timeZone") is not None:
        why = "cannot use both timeZone field and TZ or CRON_TZ in schedule"
        errors.append(invalid("spec.schedule", schedule, why))
    return errors


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    job = new["spec"]["jobTemplate"]["spec"]
    if old is None:
        return name_warnings(new["metadata"]["name"]) + spec_warnings(job, _JOB)
    said = []
    if new["metadata"].get("generation") != old["metadata"].get("generation"):
        said += spec_warnings(job, _JOB)
    if "TZ" in new["spec"]["schedule"]:
        said.append(
            f"cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see {_DOCS} for more details"
        )
    return said


def since(timestamp: Any, now: float) -> str:
    return age(timestamp, now) if timestamp else "<none>"


RESOURCE = Resource(
    group="batch",
    version="v1",
    kind="CronJob",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        validate=validate,
        prepare_for_update=prepare_for_update,
        validate_update=validate_update,
        warnings=warnings,
        reset=excluding("status"),
    ),
    subresources={"status": Subresource(strategy=Strategy(prepare_for_update=keep_spec, reset=excluding("spec")))},
    columns=(
        NAME,
        Column("Schedule", field_value("spec", "schedule")),
        Column("Timezone", field_value("spec", "timeZone", absent="<none>")),
        Column("Suspend", lambda decoded: "True" if decoded["spec"].get("suspend") else "False", type="boolean"),
        Column("Active", lambda decoded: len(nested(decoded, "status", "active") or ()), type="integer"),
        Column("Last Schedule", field_value("status", "lastScheduleTime", absent=""), show=since),
        AGE,
        *containers("spec", "jobTemplate", "spec", "template"),
        selector("spec", "jobTemplate", "spec", "selector"),
    ),
)
