"""ResourceQuotas: how much a namespace may use. Their status is written by whoever counts."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, go_struct, invalid, required
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, keep_spec, keep_status
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.core.resource_lists import is_quota_resource, validate_amount, validate_quota_resource_name
from kapi.resources.podspec.defaults import round_resources

_EXISTENCE = ("BestEffort", "NotBestEffort", "Terminating", "NotTerminating", "CrossNamespacePodAffinity")
_SCOPES = (*_EXISTENCE, "PriorityClass", "VolumeAttributesClass")
_CONFLICTS = ({"BestEffort", "NotBestEffort"}, {"Terminating", "NotTerminating"})
_POD_RESOURCES = frozenset(
    ("pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"),
)
_MUST_EXIST = (
    "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, "
    "ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity"
)


def default(new: Object) -> None:
    spec, status = new.setdefault("spec", {}), new.setdefault("status", {})
    round_resources(spec.get("hard"))
    round_resources(status.get("hard"))
    round_resources(status.get("used"))


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new["spec"]
    errors = _validate_amounts(spec.get("hard"), "spec.hard")
    errors += _validate_scopes(spec)
    if spec.get("scopeSelector") is not None:
        errors += _validate_selector(spec)
    return errors


def _validate_amounts(amounts: dict[str, str] | None, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for name, amount in (amounts or {}).items():
        errors += validate_quota_resource_name(name, f"{path}[{name}]")
        errors += validate_amount(name, amount, f"{path}[{name}]")
    return errors


def _fits(scope: str, resource: str) -> bool:
    """Whether a resource can be counted within a scope."""
    if scope == "BestEffort":
        return resource == "pods"
    if scope == "VolumeAttributesClass":
        return resource in ("persistentvolumeclaims", "requests.storage")
    return resource in _POD_RESOURCES if scope in _SCOPES else True


def _misfits(scope: str, spec: Object) -> list[str]:
    return [name for name in sorted(spec.get("hard") or {}) if is_quota_resource(name) and not _fits(scope, name)]


def _validate_scopes(spec: Object) -> list[FieldError]:
    scopes = spec.get("scopes") or []
    errors: list[FieldError] = []
    for scope in scopes:
        if scope not in _SCOPES:
            errors.append(invalid("spec.scopes", scopes, "unsupported scope"))
        why = "unsupported scope applied to resource"
        errors += [invalid("spec.scopes", scopes, why) for _ in _misfits(scope, spec)]
    errors += [invalid("spec.scopes", scopes, "conflicting scopes") for pair in _CONFLICTS if pair <= set(scopes)]
    return errors


def _validate_selector(spec: Object) -> list[FieldError]:
    path = "spec.scopeSelector.matchExpressions"
    selector = spec["scopeSelector"]
    expressions = selector.get("matchExpressions") or []
    errors: list[FieldError] = []
    for expression in expressions:
        scope, operator, values = expression.get("scopeName"), expression.get("operator"), expression.get("values")
        if scope not in _SCOPES:
            errors.append(invalid(f"{path}.scopeName", scope, "unsupported scope"))
        why = "unsupported scope applied to resource"
        errors += [invalid(path, go_struct(selector), why) for _ in _misfits(scope, spec)]
        if scope in _EXISTENCE and operator != "Exists":
            errors.append(invalid(f"{path}.operator", operator, _MUST_EXIST))
        errors += _validate_operator(operator, values or [], path)
    scopes = {expression.get("scopeName") for expression in expressions}
    conflicts = [pair for pair in _CONFLICTS if pair <= scopes]
    return errors + [invalid(path, spec.get("scopes"), "conflicting scopes") for _ in conflicts]


def _validate_operator(operator: str, values: list[str], path: str) -> list[FieldError]:
    if operator in ("In", "NotIn"):
        why = "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
        return [] if values else [required(f"{path}.values", why)]
    if operator in ("Exists", "DoesNotExist"):
        why = "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
        return [invalid(f"{path}.values", values, why)] if values else []
    return [invalid(f"{path}.operator", operator, "not a valid selector operator")]


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = validate(call, new)
    scopes = new["spec"].get("scopes") or []
    if set(scopes) != set(old.get("spec", {}).get("scopes") or []):
        errors.append(invalid("spec.scopes", scopes or None, "field is immutable"))
    return errors


def validate_status_update(_: Call, new: Object, __: Object) -> list[FieldError]:
    status = new.get("status") or {}
    return _validate_amounts(status.get("hard"), "status.hard") + _validate_amounts(status.get("used"), "status.used")


def warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    """A namespace that may request more than it may use."""
    hard = new["spec"].get("hard") or {}
    found = []
    for name in ("cpu", "memory", "storage", "ephemeral-storage") if old is None else ():
        request, limit = f"requests.{name}", f"limits.{name}"
        if request not in hard and name in ("cpu", "memory"):
            request = name
        if request in hard and limit in hard and Quantity.parse(hard[request]) > Quantity.parse(hard[limit]):
            found.append(f"ResourceQuota {request} ({hard[request]}) should be less than {limit} ({hard[limit]})")
    return found


def _usage(quota: Object, *, limits: bool) -> str:
    status = quota.get("status") or {}
    hard, used = status.get("hard") or {}, status.get("used") or {}
    names = [name for name in sorted(hard) if name.startswith("limits.") == limits]
    return ", ".join(f"{name}: {used.get(name, '0')}/{hard[name]}" for name in names)


RESOURCE = Resource(
    group="",
    version="v1",
    kind="ResourceQuota",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=keep_status,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=keep_spec,
                validate_update=validate_status_update,
                reset=excluding("spec"),
            )
        )
    },
    columns=(
        NAME,
        Column("Request", lambda quota: _usage(quota, limits=False)),
        Column("Limit", lambda quota: _usage(quota, limits=True)),
        AGE,
    ),
    returns_deleted=True,
)
