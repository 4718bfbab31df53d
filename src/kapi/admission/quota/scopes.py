"""Scopes: which objects a quota is about."""

from __future__ import annotations

from kapi.api.objects import Object


def selectors_of(quota: Object) -> list[Object]:
    """A quota's scopes, each as a selector."""
    spec = quota.get("spec") or {}
    plain = [{"scopeName": scope, "operator": "Exists"} for scope in spec.get("scopes") or ()]
    return plain + list((spec.get("scopeSelector") or {}).get("matchExpressions") or ())


def requirement_met(selector: Object, value: str | None) -> bool:
    """Whether a selector takes an object with that value of what the scope is about; None: it has none."""
    operator, values = selector.get("operator"), selector.get("values") or ()
    if operator == "In":
        return value is not None and value in values
    if operator == "NotIn":
        return value is None or value not in values
    return (value is not None) == (operator == "Exists")
