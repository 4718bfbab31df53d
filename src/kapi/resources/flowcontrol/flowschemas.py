"""FlowSchemas: which requests go to which priority level, and how they are told apart there."""

from __future__ import annotations

from operator import itemgetter

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, go_struct, invalid, not_supported, required
from kapi.api.names import dns_label, dns_subdomain
from kapi.api.objects import Object
from kapi.flowcontrol.mandatory import FLOW_SCHEMAS
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.flowcontrol.conditions import STATUS, prepare_for_create, prepare_for_update, validate_conditions

_LAST = 10_000
_METHODS = ("ByNamespace", "ByUser")
_VERBS = ("get", "list", "create", "update", "delete", "deletecollection", "patch", "watch", "proxy")
_SUBJECTS = {"ServiceAccount": "serviceAccount", "User": "user", "Group": "group"}


def default(new: Object) -> None:
    spec = new.setdefault("spec", {})
    if not spec.get("matchingPrecedence"):
        spec["matchingPrecedence"] = 1000


def validate(_: Call, new: Object) -> list[FieldError]:
    name, spec = new["metadata"].get("name", ""), new["spec"]
    errors = _validate_spec(name, spec)
    fixed = FLOW_SCHEMAS.get(name)
    if fixed is not None and spec != fixed:
        errors.append(invalid("spec", go_struct(spec), f"spec of '{name}' must equal the fixed value"))
    return errors + validate_conditions(new.get("status"))


def validate_update(call: Call, new: Object, _: Object) -> list[FieldError]:
    return validate(call, new)


def _validate_spec(name: str, spec: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    precedence, path = spec["matchingPrecedence"], "spec.matchingPrecedence"
    if precedence <= 0:
        errors.append(invalid(path, precedence, "must be a positive value"))
    if precedence > _LAST:
        errors.append(invalid(path, precedence, f"must not be greater than {_LAST}"))
    if precedence == 1 and name != "exempt":
        errors.append(invalid(path, precedence, "only the schema named 'exempt' may have matchingPrecedence 1"))
    method = spec.get("distinguisherMethod")
    if method is not None and method.get("type") not in _METHODS:
        errors.append(not_supported("spec.distinguisherMethod.type", go_struct(method), _METHODS))
    level, path = (spec.get("priorityLevelConfiguration") or {}).get("name", ""), "spec.priorityLevelConfiguration.name"
    if level:
        errors += [invalid(path, level, e) for e in dns_subdomain(level)]
    else:
        errors.append(required(path, "must reference a priority level"))
    for i, rule in enumerate(spec.get("rules") or []):
        errors += _validate_rule(rule, f"spec.rules[{i}]")
    return errors


def _validate_rule(rule: Object, path: str) -> list[FieldError]:
    subjects, resources = rule.get("subjects") or [], rule.get("resourceRules") or []
    others = rule.get("nonResourceRules") or []
    errors: list[FieldError] = []
    for i, subject in enumerate(subjects):
        errors += _validate_subject(subject, f"{path}.subjects[{i}]")
    if not subjects:
        errors.append(required(f"{path}.subjects", "subjects must contain at least one value"))
    if not resources and not others:
        errors.append(required(path, "at least one of resourceRules and nonResourceRules has to be non-empty"))
    for i, resource in enumerate(resources):
        errors += _validate_resource_rule(resource, f"{path}.resourceRules[{i}]")
    for i, other in enumerate(others):
        errors += _validate_url_rule(other, f"{path}.nonResourceRules[{i}]")
    return errors


def _validate_subject(subject: Object, path: str) -> list[FieldError]:
    kind = subject.get("kind", "")
    wanted = _SUBJECTS.get(kind)
    if wanted is None:
        return [not_supported(f"{path}.kind", kind, tuple(_SUBJECTS))]
    given, at = subject.get(wanted), f"{path}.{wanted}"
    if given is None:
        errors = [required(at, f"{wanted} is required when subject kind is '{kind}'")]
    elif kind == "ServiceAccount":
        errors = _validate_account(given, at)
    else:
        errors = [] if given.get("name") else [required(f"{at}.name")]
    for other, field in _SUBJECTS.items():
        if other != kind and subject.get(field) is not None:
            errors.append(forbidden(f"{path}.{field}", f"{field} is forbidden when subject kind is not '{other}'"))
    return errors


def _validate_account(account: Object, path: str) -> list[FieldError]:
    name, namespace = account.get("name", ""), account.get("namespace", "")
    errors: list[FieldError] = []
    if not name:
        errors.append(required(f"{path}.name"))
    elif name != "*":
        errors += [invalid(f"{path}.name", name, e) for e in dns_subdomain(name)]
    if namespace:
        return errors + [invalid(f"{path}.namespace", namespace, e) for e in dns_label(namespace)]
    return [*errors, required(f"{path}.namespace", "must specify namespace for service account")]


def _validate_verbs(verbs: list[str], path: str) -> list[FieldError]:
    if not verbs:
        return [required(path, "verbs must contain at least one value")]
    if "*" in verbs:
        return _alone(verbs, path, "verbs")
    return [] if set(verbs) <= set(_VERBS) else [not_supported(path, verbs, _VERBS)]


def _alone(values: list[str], path: str, what: str) -> list[FieldError]:
    if "*" not in values or len(values) == 1:
        return []
    return [invalid(path, values, f"if '*' is present, must not specify other {what}")]


def _validate_resource_rule(rule: Object, path: str) -> list[FieldError]:
    errors = _validate_verbs(rule.get("verbs") or [], f"{path}.verbs")
    for field, one, many in (("apiGroups", "api group", "api groups"), ("resources", "resource", "resources")):
        values, at = rule.get(field) or [], f"{path}.{field}"
        missing = required(at, f"resource rules must supply at least one {one}")
        errors += _alone(values, at, many) if values else [missing]
    namespaces, at = rule.get("namespaces") or [], f"{path}.namespaces"
    if not namespaces and not rule.get("clusterScope"):
        why = "resource rules that are not cluster scoped must supply at least one namespace"
        errors.append(required(at, why))
    elif "*" in namespaces:
        errors += _alone(namespaces, at, "namespaces")
    else:
        why = "each member of this list must be '*' or a DNS-1123 label; "
        for i, namespace in enumerate(namespaces):
            errors += [invalid(f"{at}[{i}]", namespace, why + e) for e in dns_label(namespace)]
    return errors


def _validate_url_rule(rule: Object, path: str) -> list[FieldError]:
    errors = _validate_verbs(rule.get("verbs") or [], f"{path}.verbs")
    urls, at = rule.get("nonResourceURLs") or [], f"{path}.nonResourceURLs"
    if not urls:
        return [*errors, required(at, "nonResourceURLs must contain at least one value")]
    if "*" in urls:
        return errors + _alone(urls, at, "non-resource URLs")
    for i, url in enumerate(urls):
        why = _wrong_with_url(url)
        if why:
            errors.append(invalid(f"{at}[{i}]", url, why))
    return errors


def _wrong_with_url(url: str) -> str:
    if not url:
        return "must not be empty"
    if not url.startswith("/"):
        return "must start with slash"
    if " " in url:
        return "must not contain white-space"
    if "//" in url:
        return "must not contain double slash"
    wild = url.count("*")
    return "wildcard can only do suffix matching" if wild > 1 or (wild and not url.endswith("/*")) else ""


def _missing_level(decoded: Object) -> str:
    conditions = (decoded.get("status") or {}).get("conditions") or []
    return next((c.get("status", "") for c in conditions if c.get("type") == "Dangling"), "?")


RESOURCE = Resource(
    group="flowcontrol.apiserver.k8s.io",
    version="v1",
    kind="FlowSchema",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        reset=excluding("status"),
    ),
    subresources={"status": STATUS},
    columns=(
        NAME,
        Column("PriorityLevel", field_value("spec", "priorityLevelConfiguration", "name")),
        Column("MatchingPrecedence", field_value("spec", "matchingPrecedence", absent=0)),
        Column("DistinguisherMethod", field_value("spec", "distinguisherMethod", "type", absent="<none>")),
        AGE,
        Column("MissingPL", _missing_level),
    ),
    row_order=itemgetter(2, 0),  # by precedence, then by name: in the order in which they are matched
)
