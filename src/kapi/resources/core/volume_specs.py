"""What a volume is: of PersistentVolumes, and of those that are only named inline, in an attachment."""

from __future__ import annotations

import posixpath

from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.resources.core.access_modes import VOLUME_MODES, validate_access_modes
from kapi.resources.core.resource_lists import validate_basic, validate_positive
from kapi.resources.core.volume_sources import validate_source
from kapi.resources.podspec.defaults import round_resources
from kapi.resources.podspec.scheduling import validate_node_selector

_POLICIES = ("Delete", "Recycle", "Retain")
_NOT_INLINE = "may not be specified in the context of inline volumes"


def default_volume_spec(spec: Object) -> None:
    round_resources(spec.get("capacity"))
    if spec.get("hostPath") is not None:
        spec["hostPath"].setdefault("type", "")


def validate_volume_spec(spec: Object, name: str, path: str, *, inline: bool = False) -> list[FieldError]:
    """`name` is the volume's; inline ones have none, and say less."""
    errors: list[FieldError] = []
    if inline:
        errors += [forbidden(f"{path}.claimRef", _NOT_INLINE)] if spec.get("claimRef") is not None else []
        errors += [forbidden(f"{path}.capacity", _NOT_INLINE)] if spec.get("capacity") else []
        if spec.get("csi") is None:
            errors.append(required(f"{path}.csi", "has to be specified in the context of inline volumes"))
    modes = spec.get("accessModes") or []
    errors += [] if modes else [required(f"{path}.accessModes")]
    errors += validate_access_modes(modes, f"{path}.accessModes")
    if not inline:
        errors += _validate_capacity(spec.get("capacity"), f"{path}.capacity")
    errors += _validate_policy(spec, path, inline)
    errors += _validate_affinity(spec.get("nodeAffinity"), f"{path}.nodeAffinity", inline)
    errors += validate_source(spec, name, path)
    root = (spec.get("hostPath") or {}).get("path")
    if root and posixpath.normpath(root) in ("/", "//") and spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        why = "may not be 'recycle' for a hostPath mount of '/'"
        errors.append(forbidden(f"{path}.persistentVolumeReclaimPolicy", why))
    return errors + _validate_classes(spec, path, inline)


def _validate_capacity(capacity: Object | None, path: str) -> list[FieldError]:
    errors = [] if capacity else [required(path)]
    if list(capacity or ()) != ["storage"]:
        shown = dict(sorted(capacity.items())) if capacity is not None else None
        errors.append(not_supported(path, shown, ("storage",)))
    for name, amount in (capacity or {}).items():
        errors += validate_basic(amount, f"{path}[{name}]") + validate_positive(amount, f"{path}[{name}]")
    return errors


def _validate_policy(spec: Object, path: str, inline: bool) -> list[FieldError]:
    policy, at = spec.get("persistentVolumeReclaimPolicy"), f"{path}.persistentVolumeReclaimPolicy"
    if not policy:
        return []
    if inline:
        return [] if policy == "Retain" else [forbidden(at, "may only be Retain in the context of inline volumes")]
    return [] if policy in _POLICIES else [not_supported(at, policy, _POLICIES)]


def _validate_affinity(affinity: Object | None, path: str, inline: bool) -> list[FieldError]:
    if affinity is None:
        return []
    if inline:
        return [forbidden(path, _NOT_INLINE)]
    wanted = affinity.get("required")
    if wanted is None:
        return [required(f"{path}.required", "must specify required node constraints")]
    return validate_node_selector(wanted, f"{path}.required")


def _validate_classes(spec: Object, path: str, inline: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    name, mode = spec.get("storageClassName"), spec.get("volumeMode")
    if name and inline:
        errors.append(forbidden(f"{path}.storageClassName", _NOT_INLINE))
    elif name:
        errors += [invalid(f"{path}.storageClassName", name, e) for e in dns_subdomain(name)]
    if inline and mode not in (None, "Filesystem"):
        why = "may not specify volumeMode other than Filesystem in the context of inline volumes"
        errors.append(forbidden(f"{path}.volumeMode", why))
    elif mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    attributes, at = spec.get("volumeAttributesClassName"), f"{path}.volumeAttributesClassName"
    if attributes is None or inline:
        return errors
    if attributes:
        errors += [invalid(at, attributes, e) for e in dns_subdomain(attributes)]
    else:
        errors.append(required(at, "an empty string is disallowed"))
    if spec.get("csi") is None:
        errors.append(required(f"{path}.csi", "has to be specified when using volumeAttributesClassName"))
    return errors
