"""Lists of resources and their amounts, outside of pods: what nodes have, what quotas and limits allow."""

from __future__ import annotations

from kapi.api.fields import FieldError, invalid
from kapi.api.names import label_key
from kapi.api.quantity import Quantity
from kapi.resources.podspec.resources import validate_quantity

_COMPUTE = frozenset(("cpu", "memory", "ephemeral-storage"))
_COUNTED = frozenset(
    (
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    )
)
_QUOTA = frozenset(
    (
        *_COMPUTE,
        *_COUNTED,
        *(f"{kind}.{name}" for kind in ("requests", "limits") for name in _COMPUTE),
        "requests.storage",
    )
)
_HUGE_PAGES = ("hugepages-", "requests.hugepages-")


def is_quota_resource(name: str) -> bool:
    return name in _QUOTA or name.startswith(_HUGE_PAGES)


def validate_resource_name(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, e) for e in label_key(name)]
    if not errors and "/" not in name and name != "storage" and not is_quota_resource(name):
        errors.append(invalid(path, name, "must be a standard resource type or fully qualified"))
    return errors


def validate_quota_resource_name(name: str, path: str) -> list[FieldError]:
    errors = validate_resource_name(name, path)
    if "/" not in name and not is_quota_resource(name):
        errors.append(invalid(path, name, "must be a standard resource for quota"))
    return errors


def validate_amount(name: str, text: str, path: str) -> list[FieldError]:
    """Not negative; and whole, when it counts something."""
    return validate_quantity(name, Quantity.parse(text), path)


def validate_positive(text: str, path: str) -> list[FieldError]:
    return [] if Quantity.parse(text).sign > 0 else [invalid(path, text, "must be greater than zero")]


def validate_basic(text: str, path: str) -> list[FieldError]:
    value = Quantity.parse(text).value
    return [invalid(path, value, "must be a valid resource quantity")] if value < 0 else []
