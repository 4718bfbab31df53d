"""DeviceClasses: kinds of devices that claims can ask for, and how they are configured."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError
from kapi.api.objects import Object
from kapi.registry.metadata import declared_name
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy, bump_generation, start_generation
from kapi.resources.resource.configurations import check_configuration
from kapi.resources.resource.findings import Findings
from kapi.resources.resource.names import extended_resource
from kapi.resources.resource.selectors import check_selectors


def prepare_for_create(_: Call, new: Object) -> None:
    start_generation(new)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    bump_generation(new, old)


def validate(_: Call, new: Object) -> list[FieldError]:
    found = Findings()
    found.declare(*declared_name(new))
    return _validate(found, new["spec"], None)


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate(Findings(), new["spec"], old["spec"])


def _validate(found: Findings, spec: Object, former: Object | None) -> list[FieldError]:
    check_selectors(found, spec.get("selectors"), "spec.selectors")
    known = former is not None and spec.get("config") == former.get("config")
    found.each(spec.get("config"), 32, "spec.config", lambda c, at: check_configuration(found, c, at, known=known))
    name = spec.get("extendedResourceName")
    if name is not None:
        found.declare(*extended_resource(name, "spec.extendedResourceName"))
    return found.all


RESOURCE = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="DeviceClass",
    strategy=Strategy(
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        validate_name=lambda _: [],
    ),
    returns_deleted=True,
)
