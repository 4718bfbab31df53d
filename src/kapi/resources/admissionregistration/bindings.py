"""Bindings of both kinds of policies: to what a policy applies, with which parameters."""

from __future__ import annotations

from kapi.api.fields import FieldError, invalid
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.admissionregistration.params import param_ref, validate_param_ref
from kapi.resources.admissionregistration.rules import default_match, validate_match


def default(new: Object) -> None:
    default_match(new["spec"].get("matchResources"))


def validate_binding(spec: Object) -> list[FieldError]:
    name = spec.get("policyName", "")
    errors = [invalid("spec.policyName", name, e) for e in dns_subdomain(name)] if name else []
    errors += validate_param_ref(spec.get("paramRef"), "spec.paramRef")
    return errors + validate_match(spec.get("matchResources"), "spec.matchResources")


COLUMNS = (NAME, Column("PolicyName", field_value("spec", "policyName")), Column("ParamRef", param_ref), AGE)
