"""Admission policies of both kinds: what they are about, by which parameters, with which variables."""

from __future__ import annotations

import re

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.objects import Object
from kapi.registry.strategy import bump_generation, start_generation
from kapi.resources.admissionregistration.expressions import Expressions
from kapi.resources.admissionregistration.params import validate_param_kind
from kapi.resources.admissionregistration.rules import (
    FAILURE_POLICIES,
    default_match,
    validate_conditions,
    validate_match,
    validate_mutable,
)
from kapi.resources.admissionregistration.static_names import name_warnings

_is_identifier = re.compile(r"[_a-zA-Z][_a-zA-Z0-9]*\Z").match
_RESERVED = frozenset(
    (
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    )
)


def default(new: Object) -> None:
    spec = new["spec"]
    spec.setdefault("failurePolicy", "Fail")
    default_match(spec.get("matchConstraints"))


def prepare_for_create(_: Call, new: Object) -> None:
    start_generation(new)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    bump_generation(new, old)


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    return name_warnings(new) if old is not None else []


def validate_head(spec: Object, old: Object | None, expressions: Expressions, *, mutating: bool) -> list[FieldError]:
    """What both kinds of policies say; `old` is the policy that is replaced."""
    errors: list[FieldError] = []
    if spec["failurePolicy"] not in FAILURE_POLICIES:
        errors.append(not_supported("spec.failurePolicy", spec["failurePolicy"], FAILURE_POLICIES))
    if spec.get("paramKind") is not None:
        errors += validate_param_kind(spec["paramKind"], "spec.paramKind")
    match, path = spec.get("matchConstraints"), "spec.matchConstraints"
    if match is None:
        errors.append(required(path))
    else:
        errors += validate_match(match, path)
        if not match.get("resourceRules"):
            errors.append(required(f"{path}.resourceRules"))
        errors += validate_mutable(match, path) if mutating else []
    former = (old or {}).get("spec") or {}
    if old is None or any(spec.get(field) != former.get(field) for field in ("paramKind", "matchConditions")):
        params = spec.get("paramKind") is not None
        errors += validate_conditions(spec.get("matchConditions"), "spec.matchConditions", params=params)
    for i, variable in enumerate(spec.get("variables") or []):
        errors += _validate_variable(variable, expressions, f"spec.variables[{i}]")
    return errors


def _validate_variable(variable: Object, expressions: Expressions, path: str) -> list[FieldError]:
    name = variable.get("name", "")
    errors: list[FieldError] = []
    if not name.strip():
        errors.append(required(f"{path}.name", "name is not specified"))
    elif not _is_identifier(name) or name in _RESERVED:
        errors.append(invalid(f"{path}.name", name, "must be a valid CEL identifier"))
    text = variable.get("expression", "")
    if not text.strip():
        errors.append(required(f"{path}.expression", "expression is not specified"))
    else:
        errors += expressions.define(name, text, f"{path}.expression")
    return errors
