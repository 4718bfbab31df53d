"""The spec of a job: its own, and that of the jobs a cron job makes."""

from __future__ import annotations

import re

from kapi.api.call import Call
from kapi.api.fields import FieldError, go_struct, invalid, not_supported, required, too_long
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.resources.batch.failure_policy import validate_failure_policy, validate_success_policy
from kapi.resources.podspec.defaults import default_pod_template
from kapi.resources.podspec.disabled import drop_disabled_template_fields
from kapi.resources.podspec.validation import validate_pod_template
from kapi.resources.podspec.warnings import template_warnings
from kapi.resources.workload.rules import nonnegative_fields

_MANY = 100_000
_MANY_AT_ONCE = 10_000
_LONGEST_MANAGER = 63
_MAX_INT32 = (1 << 31) - 1
_NEEDS_INDEXES = "requires indexed completion mode"
_PATH = r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+"
_is_path = re.compile(_PATH + r"\Z").match


def default_template(spec: Object) -> None:
    """All that the jobs of a cron job are given beforehand."""
    default_pod_template(spec["template"])
    for rule in (spec.get("podFailurePolicy") or {}).get("rules") or ():
        for pattern in rule.get("onPodConditions") or ():
            if not pattern.get("status"):
                pattern["status"] = "True"


def default_spec(spec: Object) -> None:
    default_template(spec)
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", 6 if spec.get("backoffLimitPerIndex") is None else _MAX_INT32)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    spec.setdefault("podReplacementPolicy", "TerminatingOrFailed" if spec.get("podFailurePolicy") is None else "Failed")
    spec.setdefault("manualSelector", False)


def drop_disabled(spec: Object, old: Object | None) -> None:
    """Scheduling as a group is a feature that is off, as are some of pods; what is already there stays."""
    if old is None or old.get("scheduling") is None:
        spec.pop("scheduling", None)
    drop_disabled_template_fields(spec["template"], old and old["template"])


def validate_spec(call: Call, spec: Object, path: str, old: Object | None) -> list[FieldError]:
    """All but the selector."""
    errors = nonnegative_fields(
        spec,
        path,
        "parallelism",
        "completions",
        "activeDeadlineSeconds",
        "backoffLimit",
        "ttlSecondsAfterFinished",
        "backoffLimitPerIndex",
        "maxFailedIndexes",
    )
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        errors.append(required(f"{path}.backoffLimitPerIndex", "when maxFailedIndexes is specified"))
    if spec.get("managedBy") is not None:
        errors += _validate_manager(spec["managedBy"], f"{path}.managedBy")
    errors += _validate_mode(spec, path)
    if spec.get("podFailurePolicy") is not None:
        errors += validate_failure_policy(spec, f"{path}.podFailurePolicy")
    if spec.get("successPolicy") is not None:
        if spec.get("completionMode") == "Indexed":
            errors += validate_success_policy(spec, f"{path}.successPolicy")
        else:
            errors.append(invalid(f"{path}.successPolicy", go_struct(spec["successPolicy"]), _NEEDS_INDEXES))
    errors += _validate_replacement(spec, f"{path}.podReplacementPolicy")
    former = old["template"] if old is not None else None
    errors += validate_pod_template(call, spec["template"], f"{path}.template", former)
    return errors + _validate_restarts(spec, f"{path}.template.spec.restartPolicy")


def _validate_manager(manager: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    host, _, rest = manager.partition("/")
    if not manager:
        errors.append(required(path))
    elif not host or not rest:
        errors.append(invalid(path, manager, 'must be a domain-prefixed path (such as "acme.io/foo")'))
    else:
        errors += [invalid(path, host, e) for e in dns_subdomain(host)]
        if not _is_path(rest):
            errors.append(invalid(path, rest, f"Invalid path (regex used for validation is '{_PATH}')"))
    if len(manager.encode()) > _LONGEST_MANAGER:
        errors.append(too_long(path, _LONGEST_MANAGER))
    return errors


def _validate_mode(spec: Object, path: str) -> list[FieldError]:
    mode = spec.get("completionMode")
    if mode is not None and mode not in ("NonIndexed", "Indexed"):
        return [not_supported(f"{path}.completionMode", mode, ["NonIndexed", "Indexed"], in_order=True)]
    if mode == "Indexed":
        return _validate_indexed(spec, path)
    fields = ("backoffLimitPerIndex", "maxFailedIndexes")
    return [invalid(f"{path}.{f}", spec[f], _NEEDS_INDEXES) for f in fields if spec.get(f) is not None]


def _validate_indexed(spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    completions, parallelism = spec.get("completions"), spec.get("parallelism")
    failures, limited = spec.get("maxFailedIndexes"), spec.get("backoffLimitPerIndex") is not None

    def bounded(field: str, value: int | None, limit: int, also: str = "") -> None:
        if value is not None and value > limit:
            errors.append(invalid(f"{path}.{field}", value, f"must be less than or equal to {limit}{also}"))

    if completions is None:
        errors.append(required(f"{path}.completions", "when completion mode is Indexed"))
    bounded("parallelism", parallelism, _MANY, " when completion mode is Indexed")
    if completions is not None and failures is not None and failures > completions:
        errors.append(invalid(f"{path}.maxFailedIndexes", failures, "must be less than or equal to completions"))
    bounded("maxFailedIndexes", failures, _MANY)
    if completions is not None and completions > _MANY and limited:
        if failures is None:
            why = f"must be specified when completions is above {_MANY}"
            errors.append(required(f"{path}.maxFailedIndexes", why))
        when = f" when completions are above {_MANY} and used with backoff limit per index"
        bounded("parallelism", parallelism, _MANY_AT_ONCE, when)
        bounded("maxFailedIndexes", failures, _MANY_AT_ONCE, when)
    return errors


def _validate_replacement(spec: Object, path: str) -> list[FieldError]:
    policy = spec.get("podReplacementPolicy")
    supported = ["Failed", "TerminatingOrFailed"] if spec.get("podFailurePolicy") is None else ["Failed"]
    return [] if policy is None or policy in supported else [not_supported(path, policy, supported)]


def _validate_restarts(spec: Object, path: str) -> list[FieldError]:
    policy = (spec["template"].get("spec") or {}).get("restartPolicy", "")
    if policy in ("", "Always"):
        return [required(path, 'valid values: "OnFailure", "Never"')]
    if policy not in ("OnFailure", "Never"):
        return [not_supported(path, policy, ["OnFailure", "Never"], in_order=True)]
    if spec.get("podFailurePolicy") is not None and policy != "Never":
        return [invalid(path, policy, 'only "Never" is supported when podFailurePolicy is specified')]
    return []


def spec_warnings(spec: Object, path: str) -> list[str]:
    said = []
    if (
        spec.get("completionMode") == "Indexed"
        and (spec.get("completions") or 0) > _MANY
        and (spec.get("parallelism") or 0) > _MANY_AT_ONCE
    ):
        said.append(
            f"{path}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than "
            "10^4, Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    return said + template_warnings(spec["template"], f"{path}.template")
