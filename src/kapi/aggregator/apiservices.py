"""APIServices, as a resource: which server answers for a group-version."""

from __future__ import annotations

import base64
from collections.abc import Callable

from kapi.api.call import Call
from kapi.api.clock import Clock, rfc3339
from kapi.api.fields import FieldError, invalid, not_supported, required
from kapi.api.names import dns_1035_label, dns_subdomain, path_segment
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding, including
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, copy_field, keep_status
from kapi.registry.table import AGE, NAME, Column
from kapi.storage.cacher.entry import Entry

HIGHEST_GROUP_PRIORITY, HIGHEST_VERSION_PRIORITY = 20000, 1000
LOCAL = {"type": "Available", "status": "True", "reason": "Local", "message": "Local APIServices are always available"}
# What a write through /status leaves as it was.
_KEPT = ("labels", "annotations", "finalizers", "ownerReferences")


def spec_of(entry: Entry) -> Object:
    """Decoded once per revision: every request for a named group asks for it."""
    if entry.renderings is None:
        entry.renderings = {}
    spec: Object | None = entry.renderings.get("spec")
    if spec is None:
        spec = entry.renderings["spec"] = entry.object["spec"]
    return spec


def default(new: Object) -> None:
    service = new.get("spec", {}).get("service")
    if service is not None:
        service.setdefault("port", 443)


def prepare_for_create(now: Callable[[], float]) -> Callable[[Call, Object], None]:
    def prepare(_: Call, new: Object) -> None:
        new["status"] = {}
        if new.get("spec", {}).get("service") is None:
            new["status"]["conditions"] = [{**LOCAL, "lastTransitionTime": rfc3339(now())}]

    return prepare


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")
    for field in _KEPT:
        copy_field(new["metadata"], old["metadata"], field)


def validate_name_of(new: Object) -> Callable[[str], list[str]]:
    """An APIService is named after what it serves."""
    spec = new.get("spec") or {}
    wanted = f"{spec.get('version', '')}.{spec.get('group', '')}"

    def problems(name: str) -> list[str]:
        if name == wanted:
            return []
        return path_segment(name) or [f'must be `spec.version+"."+spec.group`: "{wanted}"']

    return problems


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new.get("spec") or {}
    group, version = spec.get("group", ""), spec.get("version", "")
    errors: list[FieldError] = []
    if not group and version != "v1":
        errors.append(required("spec.group", "only v1 may have an empty group and it better be legacy kube"))
    if group:
        errors += [invalid("spec.group", group, e) for e in dns_subdomain(group)]
    errors += [invalid("spec.version", version, e) for e in dns_1035_label(version)]
    errors += _validate_priority(spec, "groupPriorityMinimum", HIGHEST_GROUP_PRIORITY)
    errors += _validate_priority(spec, "versionPriority", HIGHEST_VERSION_PRIORITY)
    return errors + _validate_service(spec)


def _validate_priority(spec: Object, field: str, highest: int) -> list[FieldError]:
    value = spec.get(field, 0)
    if 0 < value <= highest:
        return []
    return [invalid(f"spec.{field}", value, f"must be positive and less than {highest}")]


def _validate_service(spec: Object) -> list[FieldError]:
    service, bundle, insecure = spec.get("service"), spec.get("caBundle"), spec.get("insecureSkipTLSVerify", False)
    errors: list[FieldError] = []
    if service is None:
        if bundle:
            size = f"{len(base64.b64decode(bundle))} bytes"
            errors.append(invalid("spec.caBundle", size, "local APIServices may not have a caBundle"))
        if insecure:
            why = "local APIServices may not have insecureSkipTLSVerify"
            errors.append(invalid("spec.insecureSkipTLSVerify", insecure, why))
        return errors
    errors += [required(f"spec.service.{f}") for f in ("namespace", "name") if not service.get(f)]
    port = service.get("port", 443)
    if not 1 <= port <= 65535:
        why = "port is not valid: must be between 1 and 65535, inclusive"
        errors.append(invalid("spec.service.port", port, why))
    if insecure and bundle:
        errors.append(invalid("spec.insecureSkipTLSVerify", insecure, "may not be true if caBundle is present"))
    return errors


def validate_update(call: Call, new: Object, _: Object) -> list[FieldError]:
    problems, metadata = validate_name_of(new), new["metadata"]
    errors = [
        invalid(f"metadata.{field}", metadata[field], e)
        for field in ("generateName", "name")
        if metadata.get(field)
        for e in problems(metadata[field])
    ]
    return errors + validate(call, new)


def validate_status(_: Call, new: Object, __: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, condition in enumerate(new.get("status", {}).get("conditions") or ()):
        status = condition.get("status", "")
        if status not in ("True", "False", "Unknown"):
            path = f"status.conditions[{i}].status"
            errors.append(not_supported(path, status, ["True", "False", "Unknown"], in_order=True))
    return errors


def service_of(decoded: Object) -> str:
    service = decoded.get("spec", {}).get("service")
    return f"{service.get('namespace', '')}/{service.get('name', '')}" if service else "Local"


def available(decoded: Object) -> str:
    for condition in decoded.get("status", {}).get("conditions") or ():
        if condition.get("type") == "Available":
            if condition.get("status") == "True":
                return "True"
            return f"{condition.get('status')} ({condition.get('reason')})"
    return "Unknown"


def resource(clock: Clock) -> Resource:
    return Resource(
        group="apiregistration.k8s.io",
        version="v1",
        kind="APIService",
        prefix="apiregistration.k8s.io/apiservices",
        strategy=Strategy(
            any_finalizer=True,
            default=default,
            prepare_for_create=prepare_for_create(clock.now),
            prepare_for_update=keep_status,
            validate=validate,
            validate_update=validate_update,
            validate_name_of=validate_name_of,
            unconditional_update=False,
            reset=excluding("status"),
        ),
        subresources={
            "status": Subresource(
                strategy=Strategy(
                    any_finalizer=True,
                    prepare_for_update=prepare_for_status_update,
                    validate_update=validate_status,
                    unconditional_update=False,
                    reset=including(("f:status",)),
                )
            )
        },
        columns=(NAME, Column("Service", service_of), Column("Available", available), AGE),
    )
