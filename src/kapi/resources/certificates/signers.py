"""Names of signers: a domain and a path, `example.com/my-signer`."""

from __future__ import annotations

from kapi.api.fields import FieldError, go_value, invalid, required, too_long
from kapi.api.names import dns_label, dns_subdomain

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
