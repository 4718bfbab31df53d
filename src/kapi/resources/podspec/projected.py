"""Volumes whose files come from API objects: secrets, config maps, the pod itself, and projections of several."""

from __future__ import annotations

from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.formats import validate_unreserved_path
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector
from kapi.resources.certificates.signers import (
    is_kubernetes,
    validate_signer_name,
    validate_user_annotations,
    wrong_with_bundle_name,
)
from kapi.resources.podspec.context import API_ACCESS, go_struct
from kapi.resources.podspec.env import VOLUME_FIELDS, validate_field_ref, validate_resource_ref

_MODE = "must be a number between 0 and 0777 (octal), both inclusive"
_CONFLICT = "conflicting duplicate paths"
_SHORTEST, _LONGEST = 600, 1 << 32
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_CERTIFICATE_PATHS = ("credentialBundlePath", "keyPath", "certificateChainPath")
_DAY = 24 * 60 * 60


def validate_secret(source: Object, path: str) -> list[FieldError]:
    errors = [] if source.get("secretName") else [required(f"{path}.secretName")]
    return errors + _validate_mode(source, "defaultMode", path) + _validate_items(source, path)


def validate_config_map(source: Object, path: str) -> list[FieldError]:
    errors = [] if source.get("name") else [required(f"{path}.name")]
    return errors + _validate_mode(source, "defaultMode", path) + _validate_items(source, path)


def _validate_mode(source: Object, field: str, path: str) -> list[FieldError]:
    mode = source.get(field)
    return [] if mode is None or 0 <= mode <= 0o777 else [invalid(f"{path}.{field}", mode, _MODE)]


def _validate_items(source: Object, path: str) -> list[FieldError]:
    return [e for i, item in enumerate(source.get("items") or ()) for e in _validate_item(item, f"{path}.items[{i}]")]


def _validate_item(item: Object, path: str) -> list[FieldError]:
    errors = [required(f"{path}.{field}") for field in ("key", "path") if not item.get(field)]
    errors += validate_unreserved_path(item.get("path") or "", f"{path}.path")
    return errors + _validate_mode(item, "mode", path)


def validate_downward_api(source: Object, path: str) -> list[FieldError]:
    errors = _validate_mode(source, "defaultMode", path)
    for item in source.get("items") or ():
        errors += _validate_downward_file(item, path)
    return errors


def _validate_downward_file(file: Object, path: str) -> list[FieldError]:
    """Upstream names these fields without the index of their item."""
    errors = [] if file.get("path") else [required(f"{path}.path")]
    errors += validate_unreserved_path(file.get("path") or "", f"{path}.path")
    field, resource = file.get("fieldRef"), file.get("resourceFieldRef")
    if field is not None:
        errors += validate_field_ref(field, VOLUME_FIELDS, f"{path}.fieldRef")
        if resource is not None:
            detail = "fieldRef and resourceFieldRef can not be specified simultaneously"
            errors.append(invalid(path, "resource", detail))
    elif resource is not None:
        errors += validate_resource_ref(resource, f"{path}.resourceFieldRef", volume=True)
    else:
        errors.append(required(path, "one of fieldRef and resourceFieldRef is required"))
    return errors + _validate_mode(file, "mode", path)


def validate_projected(source: Object, path: str) -> list[FieldError]:
    if source == API_ACCESS:
        return []
    errors = _validate_mode(source, "defaultMode", path)
    taken: set[str] = set()
    for i, projection in enumerate(source.get("sources") or ()):
        at = f"{path}.sources[{i}]"
        for kind in ("secret", "configMap"):
            if projection.get(kind) is not None:
                errors += _validate_keys(projection[kind], f"{at}.{kind}", taken, path)
        if projection.get("downwardAPI") is not None:
            errors += _validate_downward(projection["downwardAPI"], f"{at}.downwardAPI", taken, path)
        if projection.get("serviceAccountToken") is not None:
            errors += _validate_token(projection["serviceAccountToken"], f"{at}.serviceAccountToken", path)
        if projection.get("clusterTrustBundle") is not None:
            errors += _validate_bundle(projection["clusterTrustBundle"], f"{at}.clusterTrustBundle", taken, path)
        if projection.get("podCertificate") is not None:
            errors += _validate_certificate(projection["podCertificate"], f"{at}.podCertificate", taken, path)
        if sum(value is not None for value in projection.values()) > 1:
            errors.append(forbidden(at, "may not specify more than 1 volume type per source"))
    return errors


def _take(file: str, taken: set[str], shown: str, path: str) -> list[FieldError]:
    """Two sources may not want the same file."""
    if file in taken:
        return [invalid(path, shown, _CONFLICT)]
    taken.add(file)
    return []


def _validate_keys(source: Object, path: str, taken: set[str], whole: str) -> list[FieldError]:
    name = source.get("name") or ""
    errors = [] if name else [required(f"{path}.name")]
    for i, item in enumerate(source.get("items") or ()):
        errors += _validate_item(item, f"{path}.items[{i}]")
        if item.get("path"):
            errors += _take(item["path"], taken, name, whole)
    return errors


def _validate_downward(source: Object, path: str, taken: set[str], whole: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for file in source.get("items") or ():
        errors += _validate_downward_file(file, path)
        if file.get("path"):
            errors += _take(file["path"], taken, file["path"], whole)
    return errors


def _validate_token(token: Object, path: str, whole: str) -> list[FieldError]:
    seconds, file = token.get("expirationSeconds"), token.get("path")
    errors: list[FieldError] = []
    if seconds is None:
        errors.append(required(f"{path}.expirationSeconds"))
    elif seconds < _SHORTEST:
        detail = "may not specify a duration less than 10 minutes"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, detail))
    elif seconds > _LONGEST:
        detail = "may not specify a duration larger than 2^32 seconds"
        errors.append(invalid(f"{path}.expirationSeconds", seconds, detail))
    if not file:
        errors.append(required(f"{whole}.path"))
    else:
        errors += validate_unreserved_path(file, f"{whole}.path")
    return errors


def _validate_bundle(bundle: Object, path: str, taken: set[str], whole: str) -> list[FieldError]:
    errors = _validate_bundle_choice(bundle, path)
    file = bundle.get("path") or ""
    if not file:
        errors.append(required(f"{path}.path"))
    errors += validate_unreserved_path(file, f"{path}.path")
    return errors + _take(file, taken, file, whole)


def _validate_bundle_choice(bundle: Object, path: str) -> list[FieldError]:
    """A bundle is named, or all bundles of a signer are selected."""
    name, signer, selector = bundle.get("name"), bundle.get("signerName"), bundle.get("labelSelector")
    if name is not None and signer is not None:
        shown = go_struct(bundle, "name", "signerName", "labelSelector", "optional", "path")
        return [invalid(path, shown, "only one of name and signerName may be used")]
    errors: list[FieldError] = []
    if name is not None:
        if not name:
            errors.append(required(f"{path}.name", "must be a valid object name"))
        detail = "not a valid clustertrustbundlename: "
        errors += [invalid(f"{path}.name", name, detail + e) for e in _bundle_name_problems(name)]
        if selector is not None:
            detail = "labelSelector must be unset if name is specified"
            errors.append(invalid(f"{path}.labelSelector", selector, detail))
    elif signer is not None:
        if not signer:
            errors.append(required(f"{path}.signerName", "must be a valid signer name"))
        errors += validate_signer_name(signer, f"{path}.signerName")
        if selector is not None:
            errors += validate_label_selector(selector, f"{path}.labelSelector")
    else:
        errors.append(required(path, "either name or signerName must be specified"))
    return errors


def _bundle_name_problems(name: str) -> list[str]:
    return wrong_with_bundle_name(name, name.rpartition(":")[0].replace(":", "/"))


def _validate_certificate(source: Object, path: str, taken: set[str], whole: str) -> list[FieldError]:
    signer = source.get("signerName") or ""
    errors = validate_signer_name(signer, f"{path}.signerName")
    errors += validate_user_annotations(source.get("userAnnotations") or {}, f"{path}.userAnnotations")
    kind = source.get("keyType") or ""
    if kind not in _KEY_TYPES:
        errors.append(not_supported(f"{path}.keyType", kind, _KEY_TYPES, in_order=True))
    seconds = source.get("maxExpirationSeconds")
    if seconds is not None:
        errors += _validate_expiration(seconds, signer, f"{path}.maxExpirationSeconds")
    for field in _CERTIFICATE_PATHS:
        file = source.get(field)
        if file:
            errors += validate_unreserved_path(file, f"{path}.{field}")
            errors += _take(file, taken, file, whole)
    if not any(source.get(field) for field in _CERTIFICATE_PATHS):
        detail = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"
        errors.append(required(path, detail))
    return errors


def _validate_expiration(seconds: int, signer: str, path: str) -> list[FieldError]:
    longest = _DAY if is_kubernetes(signer) else 91 * _DAY
    if seconds < 3600:
        return [invalid(path, seconds, "if provided, maxExpirationSeconds must be >= 3600")]
    if seconds > longest:
        return [invalid(path, seconds, f"if provided, maxExpirationSeconds must be <= {longest}")]
    return []
