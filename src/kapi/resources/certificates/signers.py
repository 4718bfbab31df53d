"""Names of signers (a domain and a path, `example.com/my-signer`), and of what is named or said for them."""

from __future__ import annotations

from kapi.api.fields import FieldError, go_value, invalid, required, too_long
from kapi.api.names import TOTAL_ANNOTATION_SIZE, dns_label, dns_subdomain, label_key

_DOMAIN = 253
_LONGEST = _DOMAIN + (253 + 63 + 1) + 1


def validate_signer_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    segments = name.split("/")
    if len(segments) != 2:
        why = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
        return [invalid(path, name, why)]
    domain, rest = segments
    errors = [too_long(path, _DOMAIN)] if len(domain.encode()) > _DOMAIN else []
    labels = domain.split(".")
    for label in labels:
        problems = dns_label(label)
        errors += [invalid(path, domain, f"validating label {go_value(label)}: {e}") for e in problems]
        if problems:
            break
    if len(labels) < 2:
        errors.append(invalid(path, domain, "should be a domain with at least two segments separated by dots"))
    for label in rest.split("."):
        problems = dns_subdomain(label)
        errors += [invalid(path, rest, f"validating label {go_value(label)}: {e}") for e in problems]
        if problems:
            break
    return [*errors, too_long(path, _LONGEST)] if len(name.encode()) > _LONGEST else errors


def is_kubernetes(name: str) -> bool:
    host = name.partition("/")[0]
    return host == "kubernetes.io" or host.endswith(".kubernetes.io")


def wrong_with_bundle_name(name: str, signer: str) -> list[str]:
    """A signer's trust bundles are named after it, so that their names cannot be taken by others."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return dns_subdomain(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return dns_subdomain(name.removeprefix(prefix))


def validate_user_annotations(annotations: dict[str, str], path: str) -> list[FieldError]:
    """What a pod tells the signer of its certificate."""
    errors: list[FieldError] = []
    for key in map(str.lower, annotations):
        problems = label_key(key) if key else []
        errors += [invalid(path, key, e) for e in problems]
        if not key:
            errors.append(required(path))
        elif not problems and "/" not in key:
            errors.append(invalid(path, key, 'must be a domain-prefixed key (such as "acme.io/foo")'))
    if sum(len(key.encode()) + len(value.encode()) for key, value in annotations.items()) > TOTAL_ANNOTATION_SIZE:
        errors.append(too_long(path, TOTAL_ANNOTATION_SIZE))
    return errors
