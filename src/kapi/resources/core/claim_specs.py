"""What a claim asks for: of PersistentVolumeClaims, and of the templates that claims are made from."""

from __future__ import annotations

from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.names import dns_label, dns_subdomain
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.api.selectors import validate_label_selector
from kapi.resources.core.access_modes import VOLUME_MODES, validate_access_modes
from kapi.resources.core.resource_lists import validate_amount, validate_positive
from kapi.resources.podspec.defaults import round_requirements


def default_claim_spec(spec: Object) -> None:
    spec.setdefault("volumeMode", "Filesystem")
    round_requirements(spec.get("resources") or {})


def validate_claim_spec(spec: Object, path: str, *, known_groups: bool = False) -> list[FieldError]:
    """`known_groups`: the API groups of data sources are not judged, as the object had some before."""
    modes = spec.get("accessModes") or []
    errors = [] if modes else [required(f"{path}.accessModes", "at least 1 access mode is required")]
    if spec.get("selector") is not None:
        errors += validate_label_selector(spec["selector"], f"{path}.selector")
    errors += validate_access_modes(modes, f"{path}.accessModes")
    errors += _validate_size(spec, f"{path}.resources[storage]")
    name = spec.get("storageClassName")
    if name:
        errors += [invalid(f"{path}.storageClassName", name, e) for e in dns_subdomain(name)]
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    errors += _validate_sources(spec, path, known_groups)
    attributes = spec.get("volumeAttributesClassName")
    if attributes:
        errors += [invalid(f"{path}.volumeAttributesClassName", attributes, e) for e in dns_subdomain(attributes)]
    return errors


def _validate_size(spec: Object, path: str) -> list[FieldError]:
    size = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if size is None:
        return [required(path)]
    return validate_positive(size, path) or validate_amount("storage", size, path)


def _validate_sources(spec: Object, path: str, known_groups: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("dataSource", "dataSourceRef"):
        if spec.get(field) is not None:
            errors += _validate_source(spec[field], f"{path}.{field}", known_groups)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is None or reference is None:
        return errors
    # As upstream: the refused value is the path of the field.
    if reference.get("namespace"):
        errors.append(invalid(path, {}, "may not be specified when dataSourceRef.namespace is specified"))
    elif any(source.get(field) != reference.get(field) for field in ("apiGroup", "kind", "name")):
        errors.append(invalid(path, {}, "must match dataSourceRef"))
    return errors


def _validate_source(source: Object, path: str, known_groups: bool) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field)]
    group, kind, namespace = source.get("apiGroup"), source.get("kind", ""), source.get("namespace")
    if not group and kind != "PersistentVolumeClaim":
        why = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, why))
    if group and not known_groups:
        errors += [invalid(f"{path}.apiGroup", group, e) for e in dns_subdomain(group)]
    if namespace:
        errors += [invalid(f"{path}.namespace", namespace, e) for e in dns_label(namespace)]
    return errors


def claim_spec_warnings(spec: Object, path: str) -> list[str]:
    resources = spec.get("resources") or {}
    found = []
    for field in ("requests", "limits"):
        amount = (resources.get(field) or {}).get("storage", "0")
        if Quantity.parse(amount).milli_value % 1000:
            why = f'fractional byte value "{amount}" is invalid, must be an integer'
            found.append(f"{path}.resources.{field}[storage]: {why}")
    return found
