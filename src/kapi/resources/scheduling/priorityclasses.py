"""PriorityClasses: how important pods are to each other."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.errors import Forbidden
from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy, start_generation
from kapi.registry.table import AGE, NAME, Column, field_value

# Classes that are always there, with the values they always have.
SYSTEM_VALUES = {"system-node-critical": 2_000_001_000, "system-cluster-critical": 2_000_000_000}
_SYSTEM_PREFIX = "system-"
_HIGHEST_OF_USERS = 1_000_000_000
_POLICIES = ("PreemptLowerPriority", "Never")


def default(new: Object) -> None:
    new.setdefault("preemptionPolicy", "PreemptLowerPriority")


def prepare_for_create(_: Call, new: Object) -> None:
    start_generation(new)


def validate(_: Call, new: Object) -> list[FieldError]:
    name, value, policy = new["metadata"].get("name", ""), new.get("value", 0), new.get("preemptionPolicy")
    errors: list[FieldError] = []
    if name.startswith(_SYSTEM_PREFIX):
        why = _unlike_system_class(name, value, new.get("globalDefault", False))
        if why:
            reserved = f"priority class names with '{_SYSTEM_PREFIX}' prefix are reserved for system use only. error: "
            errors.append(forbidden("metadata.name", reserved + why))
    elif value > _HIGHEST_OF_USERS:
        errors.append(forbidden("value", f"maximum allowed value of a user defined priority is {_HIGHEST_OF_USERS}"))
    if policy == "":
        errors.append(required("preemptionPolicy"))
    elif policy not in _POLICIES:
        errors.append(not_supported("preemptionPolicy", policy, _POLICIES, in_order=True))
    return errors


def _unlike_system_class(name: str, value: int, is_default: bool) -> str:
    expected = SYSTEM_VALUES.get(name)
    if expected is None:
        return f"{name} is not a known system priority class"
    if value != expected:
        return f"value of {name} PriorityClass must be {expected}"
    return f"globalDefault of {name} PriorityClass must be false" if is_default else ""


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    if new.get("value", 0) != old.get("value", 0):
        errors.append(forbidden("value", "may not be changed in an update."))
    if new.get("preemptionPolicy") != old.get("preemptionPolicy"):
        errors.append(invalid("preemptionPolicy", new.get("preemptionPolicy"), "field is immutable"))
    return errors


def check_delete(decoded: Object) -> None:
    name = decoded["metadata"]["name"]
    if name in SYSTEM_VALUES:
        resource = GroupResource("scheduling.k8s.io", "priorityclasses")
        raise Forbidden(resource, name, "this is a system priority class and cannot be deleted")


RESOURCE = Resource(
    group="scheduling.k8s.io",
    version="v1",
    kind="PriorityClass",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        validate=validate,
        validate_update=validate_update,
        check_delete=check_delete,
    ),
    columns=(
        NAME,
        Column("Value", field_value("value", absent=0), type="integer"),
        Column("Global-Default", field_value("globalDefault", absent=False), type="boolean"),
        AGE,
        Column("PreemptionPolicy", field_value("preemptionPolicy")),
    ),
)
