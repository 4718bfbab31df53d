"""Webhooks of both configurations: what each must say, and what it means when it does not."""

from __future__ import annotations

from collections.abc import Callable

from kapi.admission.resources import REVIEWS
from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, invalid, not_supported, required
from kapi.api.names import dns_1035_label, dns_subdomain
from kapi.api.objects import Object
from kapi.api.selectors import validate_label_selector
from kapi.registry.strategy import Strategy, bump_generation, start_generation
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.admissionregistration.endpoints import validate_client_config
from kapi.resources.admissionregistration.rules import (
    FAILURE_POLICIES,
    MATCH_POLICIES,
    default_rules,
    validate_conditions,
    validate_rule,
)
from kapi.resources.admissionregistration.static_names import name_warnings, validate_name

_VERSIONS = ("v1", "v1beta1")
_HARMLESS = ("None", "NoneOnDryRun")
_SIDE_EFFECTS = ("None", "NoneOnDryRun", "Some", "Unknown")
_REINVOCATION = ("IfNeeded", "Never")


def _default(*, mutating: bool) -> Callable[[Object], None]:
    def default(new: Object) -> None:
        for hook in new.get("webhooks") or []:
            hook.setdefault("failurePolicy", "Fail")
            hook.setdefault("matchPolicy", "Equivalent")
            for field in ("namespaceSelector", "objectSelector"):
                if hook.get(field) is None:
                    hook[field] = {}
            hook.setdefault("timeoutSeconds", 10)
            if mutating:
                hook.setdefault("reinvocationPolicy", "Never")
            default_rules(hook.get("rules"))
            service = (hook.get("clientConfig") or {}).get("service")
            if service is not None:
                service.setdefault("port", 443)

    return default


def _prepare_for_create(_: Call, new: Object) -> None:
    start_generation(new)


def _prepare_for_update(_: Call, new: Object, old: Object) -> None:
    bump_generation(new, old, "webhooks")


def _validate(_: Call, new: Object) -> list[FieldError]:
    return _validate_hooks(new, []) + validate_name(new)


def _validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return _validate_hooks(new, old.get("webhooks") or [])


def _validate_hooks(new: Object, former: list[Object]) -> list[FieldError]:
    """What was not asked of the former hooks is not asked of their successors."""
    hooks = new.get("webhooks") or []
    harmless = all(hook.get("sideEffects") in _HARMLESS for hook in former)
    recognized = all(_recognizes(hook.get("admissionReviewVersions") or ["v1"]) for hook in former)
    unique = len({hook.get("name") for hook in former}) == len(former)
    same = [h.get("matchConditions") for h in hooks] == [h.get("matchConditions") for h in former]
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, hook in enumerate(hooks):
        path, name = f"webhooks[{i}]", hook.get("name", "")
        errors += _validate_hook(hook, path, harmless=harmless)
        if not same:
            errors += validate_conditions(hook.get("matchConditions"), f"{path}.matchConditions")
        versions = hook.get("admissionReviewVersions") or []
        errors += _validate_versions(versions, f"{path}.admissionReviewVersions", recognized=recognized)
        if unique and name and name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
    return errors


def _recognizes(versions: list[str]) -> bool:
    return any(version in _VERSIONS for version in versions)


def _validate_hook(hook: Object, path: str, *, harmless: bool) -> list[FieldError]:
    errors = _validate_hook_name(hook.get("name", ""), f"{path}.name")
    for i, rule in enumerate(hook.get("rules") or []):
        errors += validate_rule(rule, f"{path}.rules[{i}]")
    for field, supported in (("failurePolicy", FAILURE_POLICIES), ("matchPolicy", MATCH_POLICIES)):
        if hook[field] not in supported:
            errors.append(not_supported(f"{path}.{field}", hook[field], supported))
    effects, allowed = hook.get("sideEffects"), _HARMLESS if harmless else _SIDE_EFFECTS
    if effects is None:
        errors.append(required(f"{path}.sideEffects", f"must specify one of {', '.join(allowed)}"))
    elif effects not in allowed:
        errors.append(not_supported(f"{path}.sideEffects", effects, allowed))
    timeout = hook["timeoutSeconds"]
    if not 1 <= timeout <= 30:
        why = "the timeout value must be between 1 and 30 seconds"
        errors.append(invalid(f"{path}.timeoutSeconds", timeout, why))
    for field in ("namespaceSelector", "objectSelector"):
        errors += validate_label_selector(hook[field], f"{path}.{field}")
    again = hook.get("reinvocationPolicy")
    if again is not None and again not in _REINVOCATION:
        errors.append(not_supported(f"{path}.reinvocationPolicy", again, _REINVOCATION))
    return errors + validate_client_config(hook.get("clientConfig") or {}, f"{path}.clientConfig")


def _validate_hook_name(name: str, path: str) -> list[FieldError]:
    if not name:
        return [required(path)]
    problems = dns_subdomain(name)
    if problems:
        return [invalid(path, name, ",".join(problems))]
    why = "should be a domain with at least three segments separated by dots"
    return [] if name.count(".") >= 2 else [invalid(path, name, why)]


def _validate_versions(versions: list[str], path: str, *, recognized: bool) -> list[FieldError]:
    if not versions:
        return [required(path, f"must specify one of {', '.join(_VERSIONS)}")]
    errors: list[FieldError] = []
    for i, version in enumerate(versions):
        if version in versions[:i]:
            errors.append(invalid(f"{path}[{i}]", version, "duplicate version"))
        else:
            errors += [invalid(f"{path}[{i}]", version, e) for e in dns_1035_label(version)]
    if recognized and not _recognizes(versions):
        errors.append(invalid(path, versions, f"must include at least one of {', '.join(_VERSIONS)}"))
    return errors


def _warnings(_: Call, new: Object, old: Object | None) -> list[str]:
    found = name_warnings(new) if old is not None else []
    for i, hook in enumerate(new.get("webhooks") or []):
        for j, rule in enumerate(hook.get("rules") or []):
            groups, resources = rule.get("apiGroups") or [], rule.get("resources") or []
            if "*" in groups or "*" in resources:
                continue
            named = dict.fromkeys((g, r) for g in groups for r in resources if (g, r) in REVIEWS)
            why = "is excluded from admission webhooks; this rule will have no effect"
            found += [f"webhooks[{i}].rules[{j}]: {resource}.{group} {why}" for group, resource in named]
    return found


def strategy(*, mutating: bool) -> Strategy:
    return Strategy(
        any_finalizer=True,
        default=_default(mutating=mutating),
        prepare_for_create=_prepare_for_create,
        prepare_for_update=_prepare_for_update,
        validate=_validate,
        validate_update=_validate_update,
        warnings=_warnings,
        unconditional_update=False,
    )


COLUMNS = (NAME, Column("Webhooks", lambda decoded: len(decoded.get("webhooks") or ()), type="integer"), AGE)
