"""Parameters of policies: the kind a policy wants, and which objects of it a binding gives."""

from __future__ import annotations

from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.names import dns_1035_label, dns_subdomain, path_segment
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector


def validate_param_kind(kind: Object, path: str) -> list[FieldError]:
    name = kind.get("kind", "")
    errors = _validate_api_version(kind.get("apiVersion", ""), f"{path}.apiVersion")
    if not name:
        return [*errors, required(f"{path}.kind")]
    problems = dns_1035_label(name.lower())
    why = f"may have mixed case, but should otherwise match: {','.join(problems)}"
    return [*errors, invalid(f"{path}.kind", name, why)] if problems else errors


def _validate_api_version(text: str, path: str) -> list[FieldError]:
    if not text:
        return [required(path)]
    if text.count("/") > 1:
        return [invalid(path, text, f"unexpected GroupVersion string: {text}")]
    group, _, version = text.rpartition("/")
    errors: list[FieldError] = []
    problems = dns_subdomain(group) if group else []
    if problems:
        errors.append(invalid(path, group, ",".join(problems)))
    if not version:
        return [*errors, invalid(path, text, "version must be specified")]
    problems = dns_1035_label(version)
    return [*errors, invalid(path, version, ",".join(problems))] if problems else errors


def validate_param_ref(reference: Object | None, path: str) -> list[FieldError]:
    if reference is None:
        return []
    name, selector, action = reference.get("name"), reference.get("selector"), reference.get("parameterNotFoundAction")
    errors: list[FieldError] = []
    why = "name and selector are mutually exclusive"
    if name:
        errors += [invalid(f"{path}.name", name, e) for e in path_segment(name)]
        if selector is not None:
            errors.append(forbidden(f"{path}.name", why))
    if selector is not None:
        errors += validate_label_selector(selector, f"{path}.selector")
        if name:
            errors.append(forbidden(f"{path}.selector", why))
    if not name and selector is None:
        errors.append(required(path, "one of name or selector must be specified"))
    if not action:
        errors.append(required(f"{path}.parameterNotFoundAction"))
    elif action not in ("Deny", "Allow"):
        errors.append(not_supported(f"{path}.parameterNotFoundAction", action, ("Deny", "Allow"), in_order=True))
    return errors


def param_kind(policy: Object) -> str:
    kind = policy["spec"].get("paramKind")
    return "<unset>" if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def param_ref(binding: Object) -> str:
    """A binding's parameter, as a table shows it."""
    reference = binding["spec"].get("paramRef")
    if reference is None:
        return "<unset>"
    if reference.get("name"):
        return f"{reference.get('namespace') or '*'}/{reference['name']}"
    selector = reference.get("selector")
    return "<unset>" if selector is None else _go_selector(selector)


def _go_selector(selector: Object) -> str:
    """As Go's generated String method prints a LabelSelector."""
    labels = selector.get("matchLabels") or {}
    shown = "".join(f"{key}: {labels[key]}," for key in sorted(labels))
    expressions = "".join(
        f"LabelSelectorRequirement{{Key:{e.get('key', '')},Operator:{e.get('operator', '')},"
        f"Values:[{' '.join(e.get('values') or [])}],}},"
        for e in selector.get("matchExpressions") or []
    )
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{shown}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )
