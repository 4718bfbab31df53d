"""Leases: who leads, and until when. Also heartbeats."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column, field_value

_COORDINATED = ("strategy", "preferredHolder")


def prepare_for_create(_: Call, new: Object) -> None:
    # Elections that the server coordinates are not served.
    for field in _COORDINATED:
        (new.get("spec") or {}).pop(field, None)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    for field in _COORDINATED:
        if (old.get("spec") or {}).get(field) is None:
            (new.get("spec") or {}).pop(field, None)


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new.get("spec") or {}
    errors: list[FieldError] = []
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    return errors


def validate_update(call: Call, new: Object, _: Object) -> list[FieldError]:
    return validate(call, new)


RESOURCE = Resource(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    strategy=Strategy(
        any_finalizer=True,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        create_on_update=True,
        unconditional_update=False,
    ),
    columns=(NAME, Column("Holder", field_value("spec", "holderIdentity")), AGE),
)
