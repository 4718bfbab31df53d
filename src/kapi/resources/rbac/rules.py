"""Policy rules: what a role allows. Shared by roles and cluster roles."""

from __future__ import annotations

from kapi.api.fields import FieldError, invalid, required
from kapi.api.objects import Object

_URLS = "nonResourceURLs"


def validate_rules(rules: list[Object] | None, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, rule in enumerate(rules or []):
        errors += _validate_rule(rule, f"rules[{i}]", namespaced=namespaced)
    # As upstream's declared rules: missing verbs are reported last.
    return errors + [required(f"rules[{i}].verbs") for i, rule in enumerate(rules or []) if not rule.get("verbs")]


def _validate_rule(rule: Object, path: str, *, namespaced: bool) -> list[FieldError]:
    errors: list[FieldError] = []
    urls = rule.get(_URLS)
    if urls:
        if namespaced:
            errors.append(invalid(f"{path}.{_URLS}", urls, "namespaced rules cannot apply to non-resource URLs"))
        if rule.get("apiGroups") or rule.get("resources") or rule.get("resourceNames"):
            detail = "rules cannot apply to both regular resources and non-resource URLs"
            errors.append(invalid(f"{path}.{_URLS}", urls, detail))
        return errors
    if not rule.get("apiGroups"):
        errors.append(required(f"{path}.apiGroups", "resource rules must supply at least one api group"))
    if not rule.get("resources"):
        errors.append(required(f"{path}.resources", "resource rules must supply at least one resource"))
    return errors
