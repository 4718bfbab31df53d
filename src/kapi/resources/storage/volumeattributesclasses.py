"""VolumeAttributesClasses: what can be changed of a volume that is in use."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, required
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.storage.parameters import validate_driver, validate_parameters


def validate(_: Call, new: Object) -> list[FieldError]:
    driver = new.get("driverName", "")
    errors = validate_driver(driver, "driverName") if driver else [required("driverName")]
    return errors + validate_parameters(new.get("parameters") or {}, "parameters", needed=True)


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = [
        forbidden(field, f"updates to {field} are forbidden.")
        for field in ("driverName", "parameters")
        if new.get(field) != old.get(field)
    ]
    return errors + validate(call, new)


RESOURCE = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="VolumeAttributesClass",
    strategy=Strategy(validate=validate, validate_update=validate_update),
    columns=(NAME, Column("DriverName", field_value("driverName")), AGE),
    returns_deleted=True,
)
