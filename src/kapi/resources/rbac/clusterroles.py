"""ClusterRoles: what may be done everywhere. Some are put together from others by their labels."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, required
from kapi.api.names import path_segment
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import CREATED_AT, NAME
from kapi.resources.rbac.rules import validate_rules

_SELECTORS = "aggregationRule.clusterRoleSelectors"


def validate(_: Call, new: Object) -> list[FieldError]:
    errors = validate_rules(new.get("rules"), namespaced=False)
    aggregation = new.get("aggregationRule")
    if aggregation is None:
        return errors
    selectors = aggregation.get("clusterRoleSelectors") or []
    if not selectors:
        errors.append(required(_SELECTORS, "at least one clusterRoleSelector required if aggregationRule is non-nil"))
    for i, selector in enumerate(selectors):
        found = validate_label_selector(selector, f"{_SELECTORS}[{i}]")
        errors += found
        if found:
            errors.append(invalid(f"{_SELECTORS}[{i}]", None, "invalid label selector."))
    return errors


def validate_update(call: Call, new: Object, _: Object) -> list[FieldError]:
    return validate(call, new)


RESOURCE = Resource(
    group="rbac.authorization.k8s.io",
    version="v1",
    kind="ClusterRole",
    strategy=Strategy(
        validate=validate, validate_update=validate_update, validate_name=path_segment, create_on_update=True
    ),
    columns=(NAME, CREATED_AT),
)
