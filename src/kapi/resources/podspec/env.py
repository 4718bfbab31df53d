"""Environment variables of containers, and the field selectors they share with downward API volumes."""

from __future__ import annotations

import re

from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.formats import environment_name, validate_no_backsteps
from kapi.api.names import dns_label, dns_subdomain, label_key
from kapi.api.objects import Object
from kapi.api.quantity import canonical
from kapi.resources.core.keys import config_map_key

ENV_FIELDS = frozenset(
    (
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
    )
)
VOLUME_FIELDS = frozenset(
    ("metadata.annotations", "metadata.labels", "metadata.name", "metadata.namespace", "metadata.uid")
)
_CONVERTIBLE = ENV_FIELDS | VOLUME_FIELDS | {"spec.restartPolicy", "spec.schedulerName", "status.phase"}
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_CPU_DIVISORS = frozenset(("1m", "1"))
_BYTE_DIVISORS = "1, 1k, 1M, 1G, 1T, 1P, 1E, 1Ki, 1Mi, 1Gi, 1Ti, 1Pi, 1Ei"
_BYTE_DIVISOR_SET = frozenset(_BYTE_DIVISORS.split(", "))
_subscripted = re.compile(r"(.+?)\['(.*)'\]\Z", re.DOTALL).match
_SOURCES = "`fieldRef`, `resourceFieldRef`, `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`"


def validate_env(variables: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, variable in enumerate(variables):
        name = variable.get("name")
        if not name:
            errors.append(required(f"{path}[{i}].name"))
        else:
            errors += [invalid(f"{path}[{i}].name", name, e) for e in environment_name(name)]
        source = variable.get("valueFrom")
        if source is not None:
            errors += _validate_source(source, variable.get("value") or "", f"{path}[{i}].valueFrom")
    return errors


def _validate_source(source: Object, value: str, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    found = [kind for kind in _SOURCE_CHECKS if source.get(kind) is not None]
    for kind in found:
        errors += _SOURCE_CHECKS[kind](source[kind], f"{path}.{kind}")
    if not found:
        errors.append(invalid(path, "", f"must specify one of: {_SOURCES}"))
    elif value:
        errors.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif len(found) > 1:
        errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def validate_field_ref(reference: Object, allowed: frozenset[str], path: str) -> list[FieldError]:
    version, target = reference.get("apiVersion"), reference.get("fieldPath")
    if not version:
        return [required(f"{path}.apiVersion")]
    if not target:
        return [required(f"{path}.fieldPath")]
    match = _subscripted(target)
    problem = _conversion_problem(version, target, match[1] if match else None)
    if problem:
        return [invalid(f"{path}.fieldPath", target, f"error converting fieldPath: {problem}")]
    if match:
        key = match[2].lower() if match[1] == "metadata.annotations" else match[2]
        return [invalid(path, key, e) for e in label_key(key)]
    if target == "spec.host":
        target = "spec.nodeName"
    return [] if target in allowed else [not_supported(f"{path}.fieldPath", target, tuple(allowed))]


def _conversion_problem(version: str, target: str, subscripted: str | None) -> str:
    if version != "v1":
        return f"unsupported pod version: {version}"
    if subscripted is not None:
        if subscripted in ("metadata.annotations", "metadata.labels"):
            return ""
        return f"field label does not support subscript: {target}"
    return "" if target in _CONVERTIBLE or target == "spec.host" else f"field label not supported: {target}"


def _validate_env_field_ref(reference: Object, path: str) -> list[FieldError]:
    return validate_field_ref(reference, ENV_FIELDS, path)


def validate_resource_ref(reference: Object, path: str, *, volume: bool = False) -> list[FieldError]:
    resource = reference.get("resource") or ""
    errors: list[FieldError] = []
    if volume and not reference.get("containerName"):
        errors.append(required(f"{path}.containerName"))
    elif not resource:
        errors.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(_HUGE_PAGES):
        errors.append(not_supported(f"{path}.resource", resource, _RESOURCES))
    return errors + _validate_divisor(resource, canonical(reference.get("divisor") or "0"), path)


def _validate_divisor(resource: str, divisor: str, path: str) -> list[FieldError]:
    if divisor == "0":
        return []
    kind = "hugepages" if resource.startswith(_HUGE_PAGES) else resource.partition(".")[2]
    if kind == "cpu":
        if divisor in _CPU_DIVISORS:
            return []
        detail = "only divisor's values 1m and 1 are supported with the cpu resource"
    elif kind in ("memory", "ephemeral-storage", "hugepages"):
        if divisor in _BYTE_DIVISOR_SET:
            return []
        shown = "local ephemeral storage" if kind == "ephemeral-storage" else kind
        detail = f"only divisor's values {_BYTE_DIVISORS} are supported with the {shown} resource"
    else:
        return []
    return [invalid(f"{path}.divisor", resource, detail)]


def _validate_key_ref(reference: Object, path: str) -> list[FieldError]:
    name, key = reference.get("name") or "", reference.get("key")
    errors = [invalid(f"{path}.name", name, e) for e in dns_subdomain(name)]
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        errors += [invalid(f"{path}.key", key, e) for e in config_map_key(key)]
    return errors


def _validate_file_ref(reference: Object, path: str) -> list[FieldError]:
    key, volume, file = reference.get("key"), reference.get("volumeName"), reference.get("path")
    errors: list[FieldError] = []
    if not key:
        errors.append(required(f"{path}.key"))
    else:
        errors += [invalid(f"{path}.key", key, e) for e in environment_name(key)]
    if not volume:
        errors.append(required(f"{path}.volumeName"))
    else:
        errors += [invalid(f"{path}.volumeName", volume, e) for e in dns_label(volume)]
    if not file:
        errors.append(required(f"{path}.path"))
    else:
        errors += validate_no_backsteps(file, f"{path}.path")
    return errors


_SOURCE_CHECKS = {
    "fieldRef": _validate_env_field_ref,
    "resourceFieldRef": validate_resource_ref,
    "configMapKeyRef": _validate_key_ref,
    "secretKeyRef": _validate_key_ref,
    "fileKeyRef": _validate_file_ref,
}


def validate_env_from(sources: list[Object], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, source in enumerate(sources):
        at = f"{path}[{i}]"
        prefix = source.get("prefix")
        if prefix:
            errors += [invalid(f"{at}.prefix", prefix, e) for e in environment_name(prefix)]
        found = [kind for kind in ("configMapRef", "secretRef") if source.get(kind) is not None]
        for kind in found:
            name = source[kind].get("name")
            if not name:
                errors.append(required(f"{at}.{kind}.name"))
            else:
                # Upstream checks this one as a prefix: a final dash is fine.
                errors += [invalid(f"{at}.{kind}.name", name, e) for e in dns_subdomain(_masked(name))]
        if not found:
            errors.append(invalid(path, "", "must specify one of: `configMapRef` or `secretRef`"))
        elif len(found) > 1:
            errors.append(invalid(path, "", "may not have more than one field specified at a time"))
    return errors


def _masked(prefix: str) -> str:
    return prefix[:-2] + "a" if len(prefix) > 1 and prefix.endswith("-") else prefix
