"""Rules for how a definition's versions are converted into each other."""

from __future__ import annotations

from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.names import dns_1035_label
from kapi.api.objects import Object
from kapi.resources.admissionregistration.endpoints import validate_client_config
from kapi.resources.certificates.pem import blocks, decode, parse_certificate

_REVIEWS = ("v1", "v1beta1")
_NOT_WEBHOOK = "should not be set when strategy is not set to Webhook"


def validate_conversion(conversion: Object | None, former: Object | None, *, established: bool) -> list[FieldError]:
    """`former` is the conversion before an update; what was wrong then may stay wrong."""
    if conversion is None:
        return []
    path, strategy = "spec.conversion", conversion.get("strategy", "")
    errors: list[FieldError] = []
    if not strategy:
        errors.append(required(f"{path}.strategy"))
    elif strategy not in ("None", "Webhook"):
        errors.append(not_supported(f"{path}.strategy", strategy, ("None", "Webhook"), in_order=True))
    webhook = conversion.get("webhook") or {}
    config, versions = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        if config is not None:
            errors.append(forbidden(f"{path}.webhookClientConfig", _NOT_WEBHOOK))
        if versions:
            errors.append(forbidden(f"{path}.conversionReviewVersions", _NOT_WEBHOOK))
        return errors
    at = f"{path}.webhookClientConfig"
    if config is None:
        errors.append(required(at, "required when strategy is set to Webhook"))
    else:
        errors += validate_client_config(config, at)
        bundle = config.get("caBundle")
        if bundle and established and not _is_bundle(bundle) and not _was_bad(former):
            why = "unable to load root certificates: unable to parse bytes as PEM block"
            errors.append(invalid(f"{at}.caBundle", bundle, why))
    known = (former or {}).get("webhook", {}).get("conversionReviewVersions") or []
    recognized = not known or any(v in _REVIEWS for v in known)
    return errors + _validate_reviews(versions, f"{path}.conversionReviewVersions", recognized=recognized)


def _validate_reviews(versions: list[str], path: str, *, recognized: bool) -> list[FieldError]:
    if not versions:
        return [required(path)]
    errors: list[FieldError] = []
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(invalid(f"{path}[{i}]", version, "duplicate version"))
            continue
        errors += [invalid(f"{path}[{i}]", version, e) for e in dns_1035_label(version)]
    if recognized and not any(v in _REVIEWS for v in versions):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(_REVIEWS)}"))
    return errors


def _is_bundle(encoded: str) -> bool:
    found = [block for block in blocks(decode(encoded)) if block.type == "CERTIFICATE"]
    return bool(found) and all(parse_certificate(block.content) is not None for block in found)


def _was_bad(former: Object | None) -> bool:
    bundle: str = ((former or {}).get("webhook", {}).get("clientConfig") or {}).get("caBundle") or ""
    return bool(bundle) and not _is_bundle(bundle)
