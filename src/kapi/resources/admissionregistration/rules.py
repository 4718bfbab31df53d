"""Which requests a webhook or a policy is about: operations, resources, selectors, and conditions."""

from __future__ import annotations

from kapi.api.fields import FieldError, duplicate, invalid, not_supported, required, too_many
from kapi.api.names import label_key, path_segment
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector
from kapi.resources.admissionregistration.expressions import check_condition

FAILURE_POLICIES = ("Fail", "Ignore")
MATCH_POLICIES = ("Equivalent", "Exact")
_SCOPES = ("*", "Cluster", "Namespaced")
_OPERATIONS = ("*", "CONNECT", "CREATE", "DELETE", "UPDATE")
_MUTATING = ("*", "CONNECT", "CREATE", "UPDATE")
_MOST_CONDITIONS = 64


def default_rules(rules: list[Object] | None) -> None:
    for rule in rules or []:
        rule.setdefault("scope", "*")


def validate_rule(rule: Object, path: str) -> list[FieldError]:
    operations = rule.get("operations") or []
    errors = [] if operations else [required(f"{path}.operations")]
    errors += _alone(operations, f"{path}.operations", "operations")
    errors += [
        not_supported(f"{path}.operations[{i}]", operation, _OPERATIONS)
        for i, operation in enumerate(operations)
        if operation not in _OPERATIONS
    ]
    for field, what in (("apiGroups", "API groups"), ("apiVersions", "API versions")):
        values, at = rule.get(field) or [], f"{path}.{field}"
        errors += _alone(values, at, what) if values else [required(at)]
        if field == "apiVersions":
            errors += [required(f"{at}[{i}]") for i, value in enumerate(values) if not value]
    errors += _validate_resources(rule.get("resources") or [], f"{path}.resources")
    scope = rule.get("scope")
    if scope is not None and scope not in _SCOPES:
        errors.append(not_supported(f"{path}.scope", scope, _SCOPES))
    return errors


def _alone(values: list[str], path: str, what: str) -> list[FieldError]:
    if "*" not in values or len(values) == 1:
        return []
    return [invalid(path, values, f"if '*' is present, must not specify other {what}")]


def _validate_resources(resources: list[str], path: str) -> list[FieldError]:
    errors = [] if resources else [required(path)]
    all_below: set[str] = set()
    everywhere: set[str] = set()
    named = False
    for i, text in enumerate(resources):
        if not text:
            errors.append(required(f"{path}[{i}]"))
            continue
        resource, slash, subresource = text.partition("/")
        if not slash:
            # As upstream: the last one decides.
            named = text != "*"
            continue
        if resource in all_below:
            errors.append(invalid(f"{path}[{i}]", text, f"if '{resource}/*' is present, must not specify {text}"))
        if subresource in everywhere:
            errors.append(invalid(f"{path}[{i}]", text, f"if '*/{subresource}' is present, must not specify {text}"))
        if subresource == "*":
            all_below.add(resource)
        if resource == "*":
            everywhere.add(subresource)
    if len(resources) > 1 and "*/*" in resources:
        errors.append(invalid(path, resources, "if '*/*' is present, must not specify other resources"))
    if "*" in resources and named:
        why = "if '*' is present, must not specify other resources without subresources"
        errors.append(invalid(path, resources, why))
    return errors


def default_match(match: Object | None) -> None:
    if match is None:
        return
    match.setdefault("matchPolicy", "Equivalent")
    for field in ("namespaceSelector", "objectSelector"):
        if match.get(field) is None:
            match[field] = {}
    for field in ("resourceRules", "excludeResourceRules"):
        default_rules(match.get(field))


def validate_match(match: Object | None, path: str) -> list[FieldError]:
    """A policy's MatchResources."""
    if match is None:
        return []
    policy = match["matchPolicy"]
    errors = [] if policy in MATCH_POLICIES else [not_supported(f"{path}.matchPolicy", policy, MATCH_POLICIES)]
    for field in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(match[field], f"{path}.{field}")
    for field in ("resourceRules", "excludeResourceRules"):
        for i, rule in enumerate(match.get(field) or []):
            errors += _validate_named_rule(rule, f"{path}.{field}[{i}]")
    return errors


def _validate_named_rule(rule: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names = rule.get("resourceNames") or []
    for i, name in enumerate(names):
        errors += [invalid(f"{path}.resourceNames[{i}]", name, e) for e in path_segment(name)]
        if name in names[:i]:
            errors.append(duplicate(f"{path}.resourceNames[{i}]", name))
    return errors + validate_rule(rule, path)


def validate_mutable(match: Object | None, path: str) -> list[FieldError]:
    """What is deleted cannot be changed any more."""
    operations = [o for rule in (match or {}).get("resourceRules") or [] for o in rule.get("operations") or []]
    return [not_supported(f"{path}.resourceRules.operations", o, _MUTATING) for o in operations if o not in _MUTATING]


def validate_conditions(conditions: list[Object] | None, path: str, *, params: bool = False) -> list[FieldError]:
    conditions = conditions or []
    errors = [too_many(path, len(conditions), _MOST_CONDITIONS)] if len(conditions) > _MOST_CONDITIONS else []
    seen: set[str] = set()
    for i, condition in enumerate(conditions):
        name = condition.get("name", "")
        errors += check_condition(condition.get("expression", ""), f"{path}[{i}].expression", params=params)
        if not name:
            errors.append(required(f"{path}[{i}].name"))
            continue
        errors += [invalid(f"{path}[{i}].name", name, e) for e in label_key(name)]
        if name in seen:
            errors.append(duplicate(f"{path}[{i}].name", name))
        seen.add(name)
    return errors
