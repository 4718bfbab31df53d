"""Leases: who leads, and until when. Also heartbeats."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, required
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column, field_value


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new.get("spec") or {}
    errors: list[FieldError] = []
    holder = spec.get("holderIdentity")
    if holder is not None and not holder:
        errors.append(invalid("spec.holderIdentity", holder, "must not be empty"))
    duration = spec.get("leaseDurationSeconds")
    if duration is not None and duration <= 0:
        errors.append(invalid("spec.leaseDurationSeconds", duration, "must be greater than 0"))
    transitions = spec.get("leaseTransitions")
    if transitions is not None and transitions < 0:
        errors.append(invalid("spec.leaseTransitions", transitions, "must be greater than or equal to 0"))
    if spec.get("strategy") is None and spec.get("preferredHolder"):
        errors.append(required("spec.preferredHolder", "may only be specified if `strategy` is defined"))
    return errors


def validate_update(call: Call, new: Object, _: Object) -> list[FieldError]:
    return validate(call, new)


RESOURCE = Resource(
    group="coordination.k8s.io",
    version="v1",
    kind="Lease",
    strategy=Strategy(
        validate=validate, validate_update=validate_update, create_on_update=True, unconditional_update=False
    ),
    columns=(NAME, Column("Holder", field_value("spec", "holderIdentity")), AGE),
)
