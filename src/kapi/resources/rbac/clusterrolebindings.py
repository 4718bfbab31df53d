"""ClusterRoleBindings: who holds a cluster role everywhere."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError
from kapi.api.names import path_segment
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.resources.rbac.subjects import COLUMNS, default, validate_binding


def validate(_: Call, new: Object) -> list[FieldError]:
    return validate_binding(new, ("ClusterRole",), namespaced=False)


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    return validate_binding(new, ("ClusterRole",), namespaced=False, old=old)


RESOURCE = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="ClusterRoleBinding",
    strategy=Strategy(
        default=default,
        validate=validate,
        validate_update=validate_update,
        validate_name=path_segment,
        create_on_update=True,
    ),
    columns=COLUMNS,
)
