"""ValidatingAdmissionPolicyBindings: to what a validating policy applies, and what happens when it says no."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.resources.admissionregistration import policies
from kapi.resources.admissionregistration.bindings import COLUMNS, default, validate_binding
from kapi.resources.admissionregistration.static_names import validate_name

_ACTIONS = ("Audit", "Deny", "Warn")
_TWICE = (
    "must not contain both Deny and Warn (repeating the same validation failure information in the API response and "
    "headers serves no purpose)"
)


def validate(call: Call, new: Object) -> list[FieldError]:
    return validate_update(call, new, new) + validate_name(new)


def validate_update(_: Call, new: Object, __: Object) -> list[FieldError]:
    spec, path = new["spec"], "spec.validationActions"
    errors = validate_binding(spec)
    actions = spec.get("validationActions") or []
    for i, action in enumerate(actions):
        if action not in _ACTIONS:
            errors.append(not_supported(f"{path}[{i}]", action, _ACTIONS))
        if action in actions[:i]:
            errors.append(duplicate(f"{path}[{i}]", action))
    if {"Deny", "Warn"} <= set(actions):
        errors.append(invalid(path, actions, _TWICE))
    # As upstream's declared rules: what is missing is reported last.
    return errors + [required(f"spec.{field}") for field in ("policyName", "validationActions") if not spec.get(field)]


RESOURCE = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="ValidatingAdmissionPolicyBinding",
    strategy=Strategy(
        any_finalizer=True,
        default=default,
        prepare_for_create=policies.prepare_for_create,
        prepare_for_update=policies.prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=policies.warnings,
        unconditional_update=False,
    ),
    columns=COLUMNS,
)
