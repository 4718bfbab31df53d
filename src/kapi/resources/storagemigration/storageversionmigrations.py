"""StorageVersionMigrations: all objects of a resource shall be written again, in today's storage version."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, go_struct, invalid, required
from kapi.api.names import dns_1035_label, dns_subdomain
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, keep_all_but_status, keep_status
from kapi.registry.table import Column, name_of
from kapi.resources.policy.conditions import validate_conditions

_PATH = "spec.resource"
_FINAL = {"Succeeded": "Success", "Failed": "Failed"}


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}


def validate(_: Call, new: Object) -> list[FieldError]:
    target = (new.get("spec") or {}).get("resource") or {}
    resource, group = target.get("resource", ""), target.get("group", "")
    if not resource:
        errors = [required(f"{_PATH}.resource", "resource is required to be set")]
    else:
        problems = dns_1035_label(resource)
        errors = [invalid(f"{_PATH}.resource", resource, ",".join(problems))] if problems else []
    problems = dns_subdomain(group) if group else []
    return [*errors, invalid(f"{_PATH}.group", group, ",".join(problems))] if problems else errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = validate(call, new)
    if new.get("spec") != old.get("spec"):
        errors.append(invalid("spec", go_struct(new.get("spec")), "field is immutable"))
    return errors


def validate_status_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    status, former, path = new.get("status") or {}, old.get("status") or {}, "status.conditions"
    version = status.get("resourceVersion", "")
    errors: list[FieldError] = []
    if version and not (version.isdecimal() and version.isascii() and not version.startswith("0")):
        errors.append(invalid("status.resourceVersion", version, _wrong_with_version(version)))
    conditions = status.get("conditions") or []
    errors += validate_conditions(conditions, path)
    if former.get("resourceVersion") and former["resourceVersion"] != version:
        errors.append(invalid("status.resourceVersion", version, "field is immutable"))
    shown = go_struct(conditions) or None
    if all(_is_true(status, kind) for kind in _FINAL):
        errors.append(invalid(path, shown, "Both success and failed conditions cannot be true at the same time"))
    for kind, said in _FINAL.items():
        if _is_true(former, kind) and not _is_true(status, kind):
            errors.append(invalid(path, shown, f"{said} condition cannot be set to false once it is true"))
    return errors


def _wrong_with_version(version: str) -> str:
    return f"resource version is not well formed: {version}"


def _is_true(status: Object, kind: str) -> bool:
    conditions = status.get("conditions") or []
    return any(c.get("type") == kind and c.get("status") == "True" for c in conditions)


def _resource(migration: Object) -> str:
    target = (migration.get("spec") or {}).get("resource") or {}
    group = target.get("group")
    return f"{target.get('resource', '')}.{group}" if group else target.get("resource", "")


def _state(migration: Object) -> str:
    conditions = (migration.get("status") or {}).get("conditions") or []
    states = [c["type"] for c in conditions if c.get("status") == "True" and c.get("type") in (*_FINAL, "Running")]
    return states[-1] if states else "Unknown"


RESOURCE = Resource(
    group="storagemigration.k8s.io",
    version="v1",
    kind="StorageVersionMigration",
    strategy=Strategy(
        prepare_for_create=prepare_for_create,
        prepare_for_update=keep_status,
        validate=validate,
        validate_update=validate_update,
        unconditional_update=False,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                prepare_for_update=keep_all_but_status,
                validate_update=validate_status_update,
                unconditional_update=False,
                reset=excluding("metadata", "spec"),
            )
        )
    },
    columns=(Column("Name", name_of), Column("Resource", _resource), Column("Status", _state)),
)
