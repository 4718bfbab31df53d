"""ValidatingAdmissionPolicies: expressions that say what may be written."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, go_struct, invalid, not_supported, required
from kapi.api.names import label_key
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, keep_all_but_status, keep_status
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.admissionregistration import policies
from kapi.resources.admissionregistration.expressions import Expressions
from kapi.resources.admissionregistration.params import param_kind
from kapi.resources.admissionregistration.static_names import validate_name
from kapi.resources.policy.conditions import validate_conditions

_REASONS = ("Forbidden", "Invalid", "RequestEntityTooLarge")
_MOST_ANNOTATIONS = 20
_MOST_BYTES = 5 * 1024
_NOTHING = "validations or auditAnnotations must contain at least one item"


def prepare_for_create(call: Call, new: Object) -> None:
    new["status"] = {}
    policies.prepare_for_create(call, new)


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    policies.prepare_for_update(call, new, old)


def validate(_: Call, new: Object) -> list[FieldError]:
    return _validate(new, None) + validate_name(new)


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate(new, old)


def _validate(new: Object, old: Object | None) -> list[FieldError]:
    spec, name = new["spec"], new["metadata"].get("name", "")
    expressions = Expressions(params=spec.get("paramKind") is not None, variables=bool(spec.get("variables")))
    errors = policies.validate_head(spec, old, expressions, mutating=False)
    validations, annotations = spec.get("validations") or [], spec.get("auditAnnotations") or []
    if not validations and not annotations:
        return errors + [required(f"spec.{field}", _NOTHING) for field in ("validations", "auditAnnotations")]
    for i, validation in enumerate(validations):
        errors += _validate_validation(validation, expressions, f"spec.validations[{i}]")
    path = "spec.auditAnnotations"
    if len(annotations) > _MOST_ANNOTATIONS:
        why = f"must not have more than {_MOST_ANNOTATIONS} auditAnnotations"
        errors.append(invalid(path, go_struct(annotations), why))
    seen: set[str] = set()
    for i, annotation in enumerate(annotations):
        key = annotation.get("key", "")
        errors += _validate_annotation(annotation, name, expressions, f"{path}[{i}]")
        if key in seen:
            errors.append(duplicate(f"{path}[{i}].key", key))
        seen.add(key)
    return errors


def _validate_validation(validation: Object, expressions: Expressions, path: str) -> list[FieldError]:
    from kapi.cel.types import BOOL, STRING  # CEL loads slowly, and most servers meet no expression

    errors: list[FieldError] = []
    if not validation.get("expression", "").strip():
        errors.append(required(f"{path}.expression", "expression is not specified"))
    else:
        errors += expressions.check(validation["expression"], f"{path}.expression", BOOL)
    for field in ("messageExpression", "message"):
        text = validation.get(field, "")
        if text and not text.strip():
            errors.append(invalid(f"{path}.{field}", text, "must be non-empty if specified"))
        elif text and field == "messageExpression":
            errors += expressions.check(text, f"{path}.{field}", STRING, authorize=False)
        elif field == "message" and any(c in text.strip() for c in "\r\n"):
            errors.append(invalid(f"{path}.message", text, "must not contain line breaks"))
    reason = validation.get("reason")
    if reason is not None and reason not in _REASONS:
        errors.append(not_supported(f"{path}.reason", reason, _REASONS))
    return errors


def _validate_annotation(annotation: Object, policy: str, expressions: Expressions, path: str) -> list[FieldError]:
    from kapi.cel.types import NULL, STRING

    key, expression = annotation.get("key", ""), annotation.get("valueExpression", "").strip()
    # The annotation is named after the policy.
    full = f"{policy}/{key}"
    errors = [invalid(f"{path}.key", full, e) for e in label_key(full)] if policy else []
    if not policy:
        errors.append(invalid(f"{path}.key", key, "requires metadata.name be non-empty"))
    if not expression:
        errors.append(required(f"{path}.valueExpression", "valueExpression is not specified"))
    elif len(expression.encode()) > _MOST_BYTES:
        errors.append(required(f"{path}.valueExpression", f"must not exceed {_MOST_BYTES} bytes in length"))
    else:
        errors += expressions.check(expression, f"{path}.valueExpression", STRING, NULL)
    return errors


def validate_status_update(_: Call, new: Object, __: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors: list[FieldError] = []
    for i, warning in enumerate((status.get("typeChecking") or {}).get("expressionWarnings") or []):
        path = f"status.typeChecking.expressionWarnings[{i}]"
        if not warning.get("warning"):
            errors.append(required(f"{path}.warning"))
        if not warning.get("fieldRef", "").strip():
            errors.append(required(f"{path}.fieldRef"))
    return errors + validate_conditions(status.get("conditions") or [], "status.conditions")


RESOURCE = Resource(
    group="admissionregistration.k8s.io",
    version="v1",
    kind="ValidatingAdmissionPolicy",
    strategy=Strategy(
        any_finalizer=True,
        default=policies.default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=policies.warnings,
        unconditional_update=False,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                any_finalizer=True,
                default=policies.default,
                prepare_for_update=keep_all_but_status,
                validate_update=validate_status_update,
                unconditional_update=False,
                reset=excluding("metadata", "spec"),
            )
        )
    },
    columns=(
        NAME,
        Column("Validations", lambda policy: len(policy["spec"].get("validations") or ()), type="integer"),
        Column("ParamKind", param_kind),
        AGE,
    ),
)
