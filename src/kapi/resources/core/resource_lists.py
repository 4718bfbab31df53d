"""Lists of resources and their amounts, outside of pods: what nodes have, what quotas and limits allow."""

from __future__ import annotations

from kapi.api.fields import FieldError, invalid
from kapi.api.names import label_key
from kapi.api.objects import Object
from kapi.api.quantity import Quantity

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
_MILLI = -3


def round_up(amounts: Object | None) -> None:
    """Nothing finer than a thousandth is kept."""
    for name, text in (amounts or {}).items():
        amounts[name] = str(Quantity.parse(text).round_up(_MILLI))  # type: ignore[index]


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


def validate_container_resource_name(name: str, path: str) -> list[FieldError]:
    errors = validate_resource_name(name, path)
    if "/" not in name:
        if name not in _COMPUTE and not name.startswith("hugepages-"):
            errors.append(invalid(path, name, "must be a standard resource for containers"))
    elif not _is_native(name) and not _is_extended(name):
        errors.append(invalid(path, name, "doesn't follow extended resource name standard"))
    return errors


def _is_native(name: str) -> bool:
    return "/" not in name or "kubernetes.io/" in name


def _is_extended(name: str) -> bool:
    return not _is_native(name) and not name.startswith("requests.") and not label_key(f"requests.{name}")


def may_overcommit(name: str) -> bool:
    return _is_native(name) and not name.startswith("hugepages-")


def validate_amount(name: str, text: str, path: str) -> list[FieldError]:
    """Not negative; and whole, when it counts something."""
    amount = Quantity.parse(text)
    errors = [invalid(path, text, "must be greater than or equal to 0")] if amount.sign < 0 else []
    if (name in _COUNTED or _is_extended(name)) and amount.milli_value % 1000:
        errors.append(invalid(path, text, "must be an integer"))
    return errors
