"""The claims that a stateful set makes for each of its pods."""

from __future__ import annotations

from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.names import dns_label, dns_subdomain
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.api.selectors import validate_label_selector

_ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_VOLUME_MODES = ("Block", "Filesystem")


def default_claim(claim: Object) -> None:
    claim["kind"], claim["apiVersion"] = "PersistentVolumeClaim", "v1"
    claim.setdefault("spec", {}).setdefault("volumeMode", "Filesystem")
    status = claim.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def validate_claim_spec(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    modes = spec.get("accessModes") or []
    if not modes:
        errors.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    if spec.get("selector") is not None:
        errors += validate_label_selector(spec["selector"], f"{path}.selector")
    errors += [not_supported(f"{path}.accessModes", m, _ACCESS_MODES) for m in modes if m not in _ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(m in _ACCESS_MODES[:3] for m in modes):
        errors.append(forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes"))
    errors += _validate_storage(spec, f"{path}.resources[storage]")
    errors += _validate_class(spec, path, "storageClassName")
    mode = spec.get("volumeMode")
    if mode is not None and mode not in _VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, _VOLUME_MODES))
    return errors + _validate_sources(spec, path) + _validate_class(spec, path, "volumeAttributesClassName")


def _validate_class(spec: Object, path: str, field: str) -> list[FieldError]:
    name = spec.get(field)
    return [invalid(f"{path}.{field}", name, e) for e in dns_subdomain(name)] if name else []


def _validate_storage(spec: Object, path: str) -> list[FieldError]:
    wanted = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if wanted is None:
        return [required(path)]
    if Quantity.parse(wanted).sign <= 0:
        return [invalid(path, wanted, "must be greater than zero")]
    return []


def _validate_sources(spec: Object, path: str) -> list[FieldError]:
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    errors: list[FieldError] = []
    if source is not None:
        errors += _validate_source(source, f"{path}.dataSource")
    if reference is not None:
        errors += _validate_source(reference, f"{path}.dataSourceRef")
        namespace = reference.get("namespace")
        if namespace:
            errors += [invalid(f"{path}.dataSourceRef.namespace", namespace, e) for e in dns_label(namespace)]
    if source is not None and reference is not None:
        if reference.get("namespace"):
            why = "may not be specified when dataSourceRef.namespace is specified"
            errors.append(invalid(path, f"{path}.dataSource", why))
        elif any(source.get(field) != reference.get(field) for field in ("apiGroup", "kind", "name")):
            errors.append(invalid(path, f"{path}.dataSource", "must match dataSourceRef"))
    return errors


def _validate_source(source: Object, path: str) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field)]
    group = source.get("apiGroup")
    if not group and source.get("kind") != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, source.get("kind", ""), why))
    if group:
        errors += [invalid(f"{path}.apiGroup", group, e) for e in dns_subdomain(group)]
    return errors
