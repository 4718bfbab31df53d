"""Claims: of storage (in templates for ephemeral volumes) and of devices."""

from __future__ import annotations

from kapi.api.fields import FieldError, duplicate, forbidden, invalid, required
from kapi.api.names import dns_label, dns_subdomain, validate_annotations, validate_labels
from kapi.api.objects import Object
from kapi.resources.core.claim_specs import validate_claim_spec
from kapi.resources.podspec.context import Context, go_struct

# What a template says nothing about, in Go's order, and the names that upstream derives from Go's.
_NOT_IN_TEMPLATES = {
    "name": "name",
    "generateName": "generateName",
    "namespace": "namespace",
    "selfLink": "selfLink",
    "uid": "uID",
    "resourceVersion": "resourceVersion",
    "generation": "generation",
    "creationTimestamp": "creationTimestamp",
    "deletionTimestamp": "deletionTimestamp",
    "deletionGracePeriodSeconds": "deletionGracePeriodSeconds",
    "ownerReferences": "ownerReferences",
    "finalizers": "finalizers",
    "managedFields": "managedFields",
}


def validate_claim_template(template: Object, path: str) -> list[FieldError]:
    errors = validate_template_metadata(template.get("metadata") or {}, f"{path}.metadata")
    return errors + validate_claim_spec(template.get("spec") or {}, f"{path}.spec")


def validate_template_metadata(metadata: Object, path: str) -> list[FieldError]:
    """A template of claims has labels and annotations, and nothing else."""
    errors = validate_annotations(metadata.get("annotations") or {}, f"{path}.annotations")
    errors += validate_labels(metadata.get("labels") or {}, f"{path}.labels")
    given = (name for field, name in _NOT_IN_TEMPLATES.items() if metadata.get(field))
    return errors + [forbidden(f"{path}.{name}", "cannot be set") for name in given]


def validate_device_claims(claims: list[Object], context: Context, path: str) -> list[FieldError]:
    """The pod's resourceClaims."""
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        if context.is_mirror:
            errors.append(forbidden("[]", "static pods do not support resource claims"))
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
