"""CSIStorageCapacities: how much storage of a class there is in a part of the cluster."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.api.selectors import validate_label_selector
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import CREATED_AT, NAME
from kapi.resources.core.node_labels import deprecation
from kapi.resources.workload.selectors import shown_selector


def validate(_: Call, new: Object) -> list[FieldError]:
    topology, name, capacity = new.get("nodeTopology"), new.get("storageClassName", ""), new.get("capacity")
    errors = [] if topology is None else validate_label_selector(topology, "nodeTopology")
    errors += [invalid("storageClassName", name, e) for e in dns_subdomain(name)]
    if capacity is not None and Quantity.parse(capacity).sign < 0:
        errors.append(invalid("capacity", capacity, "must be greater than or equal to 0"))
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = validate(call, new)
    if new.get("nodeTopology") != old.get("nodeTopology"):
        errors.append(invalid("nodeTopology", shown_selector(new.get("nodeTopology")), "field is immutable"))
    if new.get("storageClassName") != old.get("storageClassName"):
        errors.append(invalid("storageClassName", new.get("storageClassName"), "field is immutable"))
    return errors


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    topology = new.get("nodeTopology") or {}
    found = []
    for i, expression in enumerate(topology.get("matchExpressions") or []):
        key = expression.get("key", "")
        if deprecation(key):
            found.append(f"nodeTopology.matchExpressions[{i}].key: {key} is {deprecation(key)}")
    for key in topology.get("matchLabels") or {}:
        if deprecation(key):
            found.append(f"nodeTopology.matchLabels.{key}: {deprecation(key)}")
    return found


RESOURCE = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="CSIStorageCapacity",
    strategy=Strategy(
        validate=validate, validate_update=validate_update, warnings=warnings, unconditional_update=False
    ),
    columns=(NAME, CREATED_AT),
)
