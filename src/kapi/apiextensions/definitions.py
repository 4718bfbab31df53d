"""CustomResourceDefinitions, as a resource. What they define is served in a later part of this package."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding, including
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, bump_generation, copy_field, keep_status, start_generation
from kapi.registry.table import NAME, Column, created_at


def prepare_for_create(_: Call, new: Object) -> None:
    new.pop("status", None)
    start_generation(new)


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    bump_generation(new, old)


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")


RESOURCE = Resource(
    group="apiextensions.k8s.io",
    version="v1",
    kind="CustomResourceDefinition",
    prefix="apiextensions.k8s.io/customresourcedefinitions",
    strategy=Strategy(
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
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
    columns=(NAME, Column("Created At", created_at, type="date")),
)
