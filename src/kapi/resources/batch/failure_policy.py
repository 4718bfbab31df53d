"""When the failure of a pod fails its job or index, when it is ignored; and when a job has succeeded early."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.api.fields import OMITTED, FieldError, duplicate, invalid, not_supported, required, too_long, too_many
from kapi.api.names import label_key
from kapi.api.objects import Object
from kapi.resources.batch.indexes import BadIndexes, count_indexes
from kapi.resources.workload.rules import nonnegative

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_MOST_RULES = 20
_MOST_CODES = 255
_LONGEST_INDEXES = 64 * 1024


def _listed(values: Iterable[str]) -> str:
    return "valid values: [" + " ".join(f'"{v}"' for v in values) + "]"


def validate_failure_policy(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    rules = spec["podFailurePolicy"].get("rules") or []
    if len(rules) > _MOST_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), _MOST_RULES))
    pod = spec["template"].get("spec") or {}
    names = {c.get("name") for field in ("containers", "initContainers") for c in pod.get(field) or ()}
    for i, rule in enumerate(rules):
        errors += _validate_rule(spec, rule, f"{path}.rules[{i}]", names)
    return errors


def _validate_rule(spec: Object, rule: Object, path: str, names: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    action = rule.get("action")
    if not action:
        errors.append(required(f"{path}.action", _listed(_ACTIONS)))
    elif action == "FailIndex":
        if spec.get("backoffLimitPerIndex") is None:
            errors.append(invalid(f"{path}.action", action, "requires the backoffLimitPerIndex to be set"))
    elif action not in _ACTIONS:
        errors.append(not_supported(f"{path}.action", action, _ACTIONS))
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or []
    if codes is not None:
        errors += _validate_exit_codes(codes, f"{path}.onExitCodes", names)
    if conditions:
        errors += _validate_conditions(conditions, f"{path}.onPodConditions")
    if codes is not None and conditions:
        why = "specifying both OnExitCodes and OnPodConditions is not supported"
        errors.append(invalid(path, OMITTED, why))
    if codes is None and not conditions:
        why = "specifying one of OnExitCodes and OnPodConditions is required"
        errors.append(invalid(path, OMITTED, why))
    return errors


def _validate_conditions(conditions: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    if len(conditions) > _MOST_RULES:
        errors.append(too_many(path, len(conditions), _MOST_RULES))
    for i, pattern in enumerate(conditions):
        kind, status = pattern.get("type", ""), pattern.get("status")
        errors += [invalid(f"{path}[{i}].type", kind, e) for e in label_key(kind)]
        if not status:
            errors.append(required(f"{path}[{i}].status", _listed(_STATUSES)))
        elif status not in _STATUSES:
            errors.append(not_supported(f"{path}[{i}].status", status, _STATUSES))
    return errors


def _validate_exit_codes(codes: Object, path: str, names: set[str]) -> list[FieldError]:
    errors: list[FieldError] = []
    operator, container = codes.get("operator"), codes.get("containerName")
    if not operator:
        errors.append(required(f"{path}.operator", _listed(_OPERATORS)))
    elif operator not in _OPERATORS:
        errors.append(not_supported(f"{path}.operator", operator, _OPERATORS))
    if container is not None and container not in names:
        why = "must be one of the container or initContainer names in the pod template"
        errors.append(invalid(f"{path}.containerName", container, why))
    values: list[int] = codes.get("values") or []
    if not values:
        errors.append(invalid(f"{path}.values", codes.get("values"), "at least one value is required"))
    elif len(values) > _MOST_CODES:
        errors.append(too_many(f"{path}.values", len(values), _MOST_CODES))
    seen: set[int] = set()
    for i, value in enumerate(values):
        if operator == "In" and value == 0:
            errors.append(invalid(f"{path}.values[{i}]", value, "must not be 0 for the In operator"))
        if value in seen:
            errors.append(duplicate(f"{path}.values[{i}]", value))
        seen.add(value)
    if values != sorted(values):
        errors.append(invalid(f"{path}.values", values, "must be ordered"))
    return errors


def validate_success_policy(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    rules = spec["successPolicy"].get("rules") or []
    if not rules:
        why = "at least one rules must be specified when the successPolicy is specified"
        errors.append(required(f"{path}.rules", why))
    if len(rules) > _MOST_RULES:
        errors.append(too_many(f"{path}.rules", len(rules), _MOST_RULES))
    for i, rule in enumerate(rules):
        errors += _validate_success_rule(rule, spec.get("completions") or 0, f"{path}.rules[{i}]")
    return errors


def _validate_success_rule(rule: Object, completions: int, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    wanted, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    if wanted is None and indexes is None:
        errors.append(required(path, "at least one of succeededCount or succeededIndexes must be specified"))
    total = 0
    if indexes is not None:
        at = f"{path}.succeededIndexes"
        if len(indexes) > _LONGEST_INDEXES:
            errors.append(too_long(at, _LONGEST_INDEXES))
        try:
            total = count_indexes(indexes, completions)
        except BadIndexes as error:
            errors.append(invalid(at, indexes, f"error parsing succeededIndexes: {error}"))
    if wanted is not None:
        at = f"{path}.succeededCount"
        errors += nonnegative(wanted, at)
        if wanted > completions:
            why = f"must be less than or equal to {completions} (the number of specified completions)"
            errors.append(invalid(at, wanted, why))
        if indexes is not None and wanted > total:
            what = "the number of indexes in the specified succeededIndexes field"
            errors.append(invalid(at, wanted, f"must be less than or equal to {total} ({what})"))
    return errors
