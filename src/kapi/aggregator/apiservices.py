"""APIServices, as a resource: which server answers for a group-version."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.names import path_segment
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding, including
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, clear_status, copy_field, keep_status
from kapi.registry.table import AGE, NAME, Column


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")


def service_of(decoded: Object) -> str:
    service = decoded.get("spec", {}).get("service")
    return f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"


def available(decoded: Object) -> str:
    for condition in decoded.get("status", {}).get("conditions") or ():
        if condition.get("type") == "Available":
            if condition.get("status") == "True":
                return "True"
            return f"{condition.get('status')} ({condition.get('reason')})"
    return "Unknown"


RESOURCE = Resource(
    group="apiregistration.k8s.io",
    version="v1",
    kind="APIService",
    prefix="apiregistration.k8s.io/apiservices",
    strategy=Strategy(
        prepare_for_create=clear_status,
        prepare_for_update=keep_status,
        validate_name=path_segment,
        unconditional_update=False,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                prepare_for_update=prepare_for_status_update,
                unconditional_update=False,
                reset=including(("f:status",)),
            )
        )
    },
    columns=(NAME, Column("Service", service_of), Column("Available", available), AGE),
)
