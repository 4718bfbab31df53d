"""DeviceTaintRules: taints that an administrator puts on devices, whatever their driver says."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.clock import SystemClock, rfc3339
from kapi.api.fields import FieldError, too_many
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, keep_all_but_status, keep_status, start_generation
from kapi.registry.table import AGE, NAME, Column, age, field_value
from kapi.resources.policy.conditions import validate_conditions
from kapi.resources.resource.findings import Findings
from kapi.resources.resource.names import driver_name, label, pool_name
from kapi.resources.resource.taints import check_taint, default_taint

_MOST_CONDITIONS = 8


def default(new: Object) -> None:
    default_taint(new["spec"]["taint"])


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}
    start_generation(new)


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    """A taint with another effect is a new one, unless whoever changes it says since when it is there."""
    keep_status(call, new, old)
    taint, former = new["spec"]["taint"], old["spec"]["taint"]
    if taint.get("effect") != former.get("effect") and taint.get("timeAdded") == former.get("timeAdded"):
        taint["timeAdded"] = rfc3339(SystemClock.now())
    bump_generation(new, old)


def validate(_: Call, new: Object) -> list[FieldError]:
    return _validate(new["spec"], {})


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate(new["spec"], old["spec"])


def _validate(spec: Object, former: Object) -> list[FieldError]:
    found = Findings()
    selector = spec.get("deviceSelector") or {}
    for field, check in (("driver", driver_name), ("pool", pool_name), ("device", label)):
        if selector.get(field) is not None:
            found.add(*check(selector[field], f"spec.deviceSelector.{field}"))
    check_taint(found, spec["taint"], "spec.taint", known_effect=(former.get("taint") or {}).get("effect", ""))
    return found.all


def validate_status_update(_: Call, new: Object, __: Object) -> list[FieldError]:
    conditions, path = (new.get("status") or {}).get("conditions") or [], "status.conditions"
    errors = validate_conditions(conditions, path)
    if len(conditions) > _MOST_CONDITIONS:
        errors.append(too_many(path, len(conditions), _MOST_CONDITIONS))
    return errors


def _added(added: str | None, now: float) -> str:
    return age(added, now) if added else ""


RESOURCE = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="DeviceTaintRule",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        unconditional_update=False,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=keep_all_but_status,
                validate_update=validate_status_update,
                unconditional_update=False,
                reset=excluding("metadata", "spec"),
            )
        )
    },
    columns=(
        NAME,
        Column("Key", field_value("spec", "taint", "key")),
        Column("Value", field_value("spec", "taint", "value")),
        Column("Effect", field_value("spec", "taint", "effect")),
        Column("TimeAdded", field_value("spec", "taint", "timeAdded"), show=_added),
        AGE,
    ),
)
