"""Roles: what may be done within one namespace."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError
from kapi.api.names import path_segment
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import CREATED_AT, NAME
from kapi.resources.rbac.rules import validate_rules


def validate(_: Call, new: Object) -> list[FieldError]:
    return validate_rules(new.get("rules"), namespaced=True)


def validate_update(call: Call, new: Object, _: Object) -> list[FieldError]:
    return validate(call, new)


RESOURCE = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="Role",
    strategy=Strategy(
        validate=validate, validate_update=validate_update, validate_name=path_segment, create_on_update=True
    ),
    columns=(NAME, CREATED_AT),
)
