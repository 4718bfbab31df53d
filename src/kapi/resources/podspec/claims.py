"""Claims: of storage (in templates for ephemeral volumes) and of devices."""

from __future__ import annotations

from kapi.api.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from kapi.api.names import dns_label, dns_subdomain, validate_annotations, validate_labels
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.api.selectors import validate_label_selector
from kapi.resources.podspec.context import Context, go_struct

ACCESS_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
VOLUME_MODES = ("Block", "Filesystem")
_TEMPLATE_METADATA = frozenset(("annotations", "labels"))


def validate_claim_template(template: Object, path: str) -> list[FieldError]:
    metadata = template.get("metadata") or {}
    errors = validate_annotations(metadata.get("annotations") or {}, f"{path}.metadata.annotations")
    errors += validate_labels(metadata.get("labels") or {}, f"{path}.metadata.labels")
    errors += [
        forbidden(f"{path}.metadata.{field}", "cannot be set")
        for field, value in metadata.items()
        if value and field not in _TEMPLATE_METADATA
    ]
    return errors + validate_claim_spec(template.get("spec") or {}, f"{path}.spec")


def validate_claim_spec(spec: Object, path: str, *, any_api_group: bool = False) -> list[FieldError]:
    """A PersistentVolumeClaim's spec. `any_api_group`: as in the claim that this one replaces."""
    modes = spec.get("accessModes") or []
    errors: list[FieldError] = []
    if not modes:
        errors.append(required(f"{path}.accessModes", "at least 1 access mode is required"))
    if spec.get("selector") is not None:
        errors += validate_label_selector(spec["selector"], f"{path}.selector")
    errors += [not_supported(f"{path}.accessModes", m, ACCESS_MODES) for m in modes if m not in ACCESS_MODES]
    if "ReadWriteOncePod" in modes and any(m in ACCESS_MODES[:3] for m in modes):
        errors.append(forbidden(f"{path}.accessModes", "may not use ReadWriteOncePod with other access modes"))
    errors += _validate_storage(spec, f"{path}.resources[storage]")
    errors += _validate_class(spec, "storageClassName", path)
    mode = spec.get("volumeMode")
    if mode is not None and mode not in VOLUME_MODES:
        errors.append(not_supported(f"{path}.volumeMode", mode, VOLUME_MODES))
    errors += _validate_sources(spec, path, any_api_group=any_api_group)
    return errors + _validate_class(spec, "volumeAttributesClassName", path)


def _validate_storage(spec: Object, path: str) -> list[FieldError]:
    text = ((spec.get("resources") or {}).get("requests") or {}).get("storage")
    if text is None:
        return [required(path)]
    return [] if Quantity.parse(text).sign > 0 else [invalid(path, text, "must be greater than zero")]


def _validate_class(spec: Object, field: str, path: str) -> list[FieldError]:
    name = spec.get(field)
    return [invalid(f"{path}.{field}", name, e) for e in dns_subdomain(name)] if name else []


def _validate_sources(spec: Object, path: str, *, any_api_group: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    for field, value in (("dataSource", source), ("dataSourceRef", reference)):
        if value is not None:
            errors += _validate_source(value, f"{path}.{field}", any_api_group=any_api_group)
    if source is None or reference is None:
        return errors
    # Upstream shows a field path as the bad value here.
    if reference.get("namespace"):
        detail = "may not be specified when dataSourceRef.namespace is specified"
        errors.append(invalid(path, {}, detail))
    elif any(source.get(f) != reference.get(f) for f in ("apiGroup", "kind", "name")):
        errors.append(invalid(path, {}, "must match dataSourceRef"))
    return errors


def _validate_source(source: Object, path: str, *, any_api_group: bool) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("name", "kind") if not source.get(field)]
    group, kind, namespace = source.get("apiGroup") or "", source.get("kind") or "", source.get("namespace")
    if not group and kind != "PersistentVolumeClaim":
        detail = "must be 'PersistentVolumeClaim' when referencing the default apiGroup"
        errors.append(invalid(path, kind, detail))
    if group and not any_api_group:
        errors += [invalid(f"{path}.apiGroup", group, e) for e in dns_subdomain(group)]
    if namespace:
        errors += [invalid(f"{path}.namespace", namespace, e) for e in dns_label(namespace)]
    return errors


def validate_device_claims(claims: list[Object], context: Context, path: str) -> list[FieldError]:
    """The pod's resourceClaims."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        if context.is_mirror:
            errors.append(forbidden("", "static pods do not support resource claims"))
            continue
        errors += _validate_device_claim(claim, seen, f"{path}[{i}]")
    return errors


def _validate_device_claim(claim: Object, seen: set[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name = claim.get("name")
    if not name:
        errors.append(required(f"{path}.name"))
    elif name in seen:
        errors.append(duplicate(f"{path}.name", name))
    else:
        errors += [invalid(f"{path}.name", name, e) for e in dns_label(name)]
        seen.add(name)
    fields = ("resourceClaimName", "resourceClaimTemplateName")
    given = [field for field in fields if claim.get(field) is not None]
    shown = go_struct(claim, "name", *fields)
    if len(given) > 1:
        detail = "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
        errors.append(invalid(path, shown, detail))
    elif not given:
        detail = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
        errors.append(invalid(path, shown, detail))
    for field in given:
        errors += [invalid(f"{path}.{field}", claim[field], e) for e in dns_subdomain(claim[field])]
    return errors
