"""Where a pod may run: affinity, tolerations, spread over a topology, gates."""

from __future__ import annotations

from typing import Any

from kapi.api.fields import FieldError, duplicate, forbidden, invalid, not_supported, required
from kapi.api.names import dns_label, dns_subdomain, label_key, label_value
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector

EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")
_TOLERATION_OPERATORS = ("Equal", "Exists")
_COMPARISONS = ("Lt", "Gt")
_ACTIONS = ("DoNotSchedule", "ScheduleAnyway")
_POLICIES = ("Honor", "Ignore")
_REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"
_WEIGHT = "must be in the range 1-100"
_OPERATOR = "not a valid selector operator"


def validate_affinity(affinity: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    nodes = affinity.get("nodeAffinity")
    if nodes is not None:
        errors += _validate_node_affinity(nodes, f"{path}.nodeAffinity")
    for field in ("podAffinity", "podAntiAffinity"):
        pods = affinity.get(field)
        if pods is not None:
            errors += _validate_pod_affinity(pods, f"{path}.{field}")
    return errors


def _validate_node_affinity(affinity: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    selector = affinity.get(_REQUIRED)
    if selector is not None:
        errors += validate_node_selector(selector, f"{path}.{_REQUIRED}")
    for i, term in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{i}]"
        weight = term.get("weight") or 0
        if not 0 < weight <= 100:
            errors.append(invalid(f"{at}.weight", weight, _WEIGHT))
        errors += _validate_node_term(term.get("preference") or {}, f"{at}.preference", check_values=False)
    return errors


def validate_node_selector(selector: Object, path: str) -> list[FieldError]:
    terms = selector.get("nodeSelectorTerms") or []
    if not terms:
        return [required(f"{path}.nodeSelectorTerms", "must have at least one node selector term")]
    return [e for i, t in enumerate(terms) for e in _validate_node_term(t, f"{path}.nodeSelectorTerms[{i}]")]


def _validate_node_term(term: Object, path: str, *, check_values: bool = True) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, requirement in enumerate(term.get("matchExpressions") or ()):
        errors += _validate_node_requirement(requirement, f"{path}.matchExpressions[{i}]", check_values)
    for i, requirement in enumerate(term.get("matchFields") or ()):
        errors += _validate_node_field(requirement, f"{path}.matchFields[{i}]")
    return errors


def _validate_node_requirement(requirement: Object, path: str, check_values: bool) -> list[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    errors: list[FieldError] = []
    if operator in ("In", "NotIn"):
        if not values:
            errors.append(required(f"{path}.values", "must be specified when `operator` is 'In' or 'NotIn'"))
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            errors.append(forbidden(f"{path}.values", detail))
    elif operator in ("Gt", "Lt"):
        if len(values) != 1:
            detail = "must be specified single value when `operator` is 'Lt' or 'Gt'"
            errors.append(required(f"{path}.values", detail))
    else:
        errors.append(invalid(f"{path}.operator", operator, _OPERATOR))
    key = requirement.get("key") or ""
    errors += [invalid(f"{path}.key", key, e) for e in label_key(key)]
    if check_values:
        errors += [invalid(f"{path}.values[{i}]", v, e) for i, v in enumerate(values) for e in label_value(v)]
    return errors


def _validate_node_field(requirement: Object, path: str) -> list[FieldError]:
    operator, values = requirement.get("operator") or "", requirement.get("values") or []
    errors: list[FieldError] = []
    if operator not in ("In", "NotIn"):
        errors.append(invalid(f"{path}.operator", operator, _OPERATOR))
    elif len(values) != 1:
        detail = "must be only one value when `operator` is 'In' or 'NotIn' for node field selector"
        errors.append(required(f"{path}.values", detail))
    key = requirement.get("key") or ""
    if key != "metadata.name":
        errors.append(invalid(f"{path}.key", key, "not a valid field selector key"))
        return errors
    return errors + [invalid(f"{path}.values[{i}]", v, e) for i, v in enumerate(values) for e in dns_subdomain(v)]


def _validate_pod_affinity(affinity: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, term in enumerate(affinity.get(_REQUIRED) or ()):
        errors += _validate_pod_term(term, f"{path}.{_REQUIRED}[{i}]")
    for i, weighted in enumerate(affinity.get(_PREFERRED) or ()):
        at = f"{path}.{_PREFERRED}[{i}]"
        weight = weighted.get("weight") or 0
        if not 0 < weight <= 100:
            errors.append(invalid(f"{at}.weight", weight, _WEIGHT))
        errors += _validate_pod_term(weighted.get("podAffinityTerm") or {}, f"{at}.podAffinityTerm")
    return errors


def _validate_pod_term(term: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field in ("labelSelector", "namespaceSelector"):
        if term.get(field) is not None:
            errors += validate_label_selector(term[field], f"{path}.{field}")
    for name in term.get("namespaces") or ():
        errors += [invalid(f"{path}.namespace", name, e) for e in dns_label(name)]
    errors += _validate_label_keys(term, path)
    key = term.get("topologyKey") or ""
    if not key:
        errors.append(required(f"{path}.topologyKey", "can not be empty"))
    return errors + [invalid(f"{path}.topologyKey", key, e) for e in label_key(key)]


def _validate_label_keys(term: Object, path: str) -> list[FieldError]:
    """matchLabelKeys and mismatchLabelKeys: keys whose values come from the pod itself."""
    matched, mismatched = term.get("matchLabelKeys") or [], term.get("mismatchLabelKeys") or []
    if not matched and not mismatched:
        return []
    selector: Object | None = term.get("labelSelector")
    errors: list[FieldError] = []
    for field, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selector is None:
            errors.append(forbidden(f"{path}.{field}", "must not be specified when labelSelector is not set"))
        elif keys:
            errors += [invalid(f"{path}.{field}[{i}]", k, e) for i, k in enumerate(keys) for e in label_key(k)]
    if selector is not None:
        # On create the keys have been merged into the selector once; twice means that the client used them too.
        seen = set(selector.get("matchLabels") or ())
        for expression in selector.get("matchExpressions") or ():
            key = expression.get("key") or ""
            if key in matched and key in seen:
                last = len(matched) - 1 - matched[::-1].index(key)
                errors.append(invalid(f"{path}[{last}]", key, "exists in both matchLabelKeys and labelSelector"))
            seen.add(key)
    detail = "exists in both matchLabelKeys and mismatchLabelKeys"
    errors += [invalid(f"{path}.matchLabelKeys[{i}]", k, detail) for i, k in enumerate(matched) if k in mismatched]
    return errors


def validate_tolerations(tolerations: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, toleration in enumerate(tolerations):
        get = toleration.get
        key, operator, effect = get("key"), get("operator") or "", get("effect") or ""
        if key:
            errors += [invalid(f"{path}[{i}].key", key, e) for e in label_key(key)]
        elif operator != "Exists":
            detail = 'operator must be Exists when `key` is empty, which means "match all values and all keys"'
            errors.append(invalid(f"{path}[{i}].operator", operator, detail))
        if get("tolerationSeconds") is not None and effect != "NoExecute":
            detail = "effect must be 'NoExecute' when `tolerationSeconds` is set"
            errors.append(invalid(f"{path}[{i}].effect", effect, detail))
        errors += _validate_toleration_value(operator, get("value") or "", f"{path}[{i}].operator")
        if effect and effect not in EFFECTS:
            errors.append(not_supported(f"{path}[{i}].effect", effect, EFFECTS, in_order=True))
    return errors


def _validate_toleration_value(operator: str, value: str, path: str) -> list[FieldError]:
    if operator == "Exists":
        return [invalid(path, value, "value must be empty when `operator` is 'Exists'")] if value else []
    if operator in ("", "Equal"):
        problems = label_value(value) if value else []
        return [invalid(path, value, ";".join(problems))] if problems else []
    supported = _TOLERATION_OPERATORS + (_COMPARISONS if operator in _COMPARISONS else ())
    return [not_supported(path, operator, supported, in_order=True)]


def validate_spread(constraints: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, constraint in enumerate(constraints):
        at, get = f"{path}[{i}]", constraint.get
        skew, key, action = get("maxSkew") or 0, get("topologyKey") or "", get("whenUnsatisfiable") or ""
        if skew <= 0:
            errors.append(invalid(f"{at}.maxSkew", skew, "must be greater than zero"))
        if not key:
            errors.append(required(f"{at}.topologyKey", "can not be empty"))
        if action not in _ACTIONS:
            errors.append(not_supported(f"{at}.whenUnsatisfiable", action, _ACTIONS))
        if any(
            (c.get("topologyKey") or "") == key and c.get("whenUnsatisfiable") == action for c in constraints[i + 1 :]
        ):
            errors.append(duplicate(f"{at}.{{topologyKey, whenUnsatisfiable}}", f"{{{key}, {action}}}"))
        errors += _validate_domains(get("minDomains"), action, f"{at}.minDomains")
        errors += [
            not_supported(f"{at}.{field}", get(field), _POLICIES)
            for field in ("nodeAffinityPolicy", "nodeTaintsPolicy")
            if get(field) is not None and get(field) not in _POLICIES
        ]
        errors += _validate_label_keys(constraint, at)
        if get("labelSelector") is not None:
            errors += validate_label_selector(constraint["labelSelector"], f"{at}.labelSelector")
    return errors


def _validate_domains(domains: int | None, action: str, path: str) -> list[FieldError]:
    if domains is None:
        return []
    errors = [invalid(path, domains, "must be greater than zero")] if domains <= 0 else []
    if action != "DoNotSchedule":
        detail = f"can only use minDomains if whenUnsatisfiable=DoNotSchedule, not {action}"
        errors.append(invalid(path, domains, detail))
    return errors


def validate_gates(gates: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, gate in enumerate(gates):
        name = gate.get("name") or ""
        errors += [invalid(f"{path}[{i}]", name, e) for e in label_key(name)]
        if name in seen:
            errors.append(duplicate(f"{path}[{i}]", name))
        seen.add(name)
    return errors


def merge_label_keys(pod: Object) -> None:
    """The pod's own labels, for the keys that affinity terms and spread constraints name, go into their selectors."""
    spec, labels = pod["spec"], pod["metadata"].get("labels") or {}
    affinity = spec.get("affinity") or {}
    for field in ("podAffinity", "podAntiAffinity"):
        terms = affinity.get(field) or {}
        for weighted in terms.get(_PREFERRED) or ():
            _merge(weighted.get("podAffinityTerm") or {}, labels)
        for term in terms.get(_REQUIRED) or ():
            _merge(term, labels)
    for constraint in spec.get("topologySpreadConstraints") or ():
        _merge(constraint, labels)


def _merge(term: Object, labels: dict[str, Any]) -> None:
    selector = term.get("labelSelector")
    if selector is None:
        return
    for field, operator in (("matchLabelKeys", "In"), ("mismatchLabelKeys", "NotIn")):
        for key in term.get(field) or ():
            if key in labels:
                expression = {"key": key, "operator": operator, "values": [labels[key]]}
                selector.setdefault("matchExpressions", []).append(expression)
