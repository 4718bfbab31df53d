"""MutatingAdmissionPolicyBindings: to what a mutating policy applies."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, required
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.resources.admissionregistration import policies
from kapi.resources.admissionregistration.bindings import COLUMNS, default, validate_binding
from kapi.resources.admissionregistration.rules import validate_mutable
from kapi.resources.admissionregistration.static_names import validate_name


def validate(call: Call, new: Object) -> list[FieldError]:
    return validate_update(call, new, new) + validate_name(new)


def validate_update(_: Call, new: Object, __: Object) -> list[FieldError]:
    spec = new["spec"]
    errors = [] if spec.get("policyName") else [required("spec.policyName")]
    errors += validate_binding(spec)
    return errors + validate_mutable(spec.get("matchResources"), "spec.matchResources")


RESOURCE = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="MutatingAdmissionPolicyBinding",
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
