"""IPAddresses: an address that is taken, and by what. Its name is the address, so that it can be taken only once."""

from __future__ import annotations

from kapi.api.addresses import validate_canonical_ip
from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid, missing_last, required
from kapi.api.names import dns_subdomain, path_segment
from kapi.api.objects import Object
from kapi.registry.resource import Resource
from kapi.registry.strategy import Strategy
from kapi.registry.table import NAME, Column, age, created_at

_PATH = "spec.parentRef"


def default(new: Object) -> None:
    """Nothing is added to a name: as upstream, one that shall be generated is what it was to begin with."""
    metadata = new["metadata"]
    if metadata.get("generateName") and not metadata.get("name"):
        metadata["name"] = metadata["generateName"]


def validate_name(name: str) -> list[str]:
    return [error.detail for error in validate_canonical_ip("", name)]


def validate(_: Call, new: Object) -> list[FieldError]:
    parent = _parent(new)
    if parent is None:
        return [required(_PATH)]
    return missing_last(_validate_parent(parent), "resource", "name")


def _parent(decoded: Object) -> Object | None:
    parent: Object | None = (decoded.get("spec") or {}).get("parentRef")
    return parent


def _validate_parent(parent: Object) -> list[FieldError]:
    group = parent.get("group") or ""
    errors = [invalid(f"{_PATH}.group", group, e) for e in dns_subdomain(group)] if group else []
    for field in ("resource", "name", "namespace"):
        value = parent.get(field) or ""
        if not value and field != "namespace":
            errors.append(required(f"{_PATH}.{field}"))
        errors += [invalid(f"{_PATH}.{field}", value, e) for e in path_segment(value)]
    return errors


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    parent = _parent(new)
    if parent == _parent(old):
        return []
    errors = [required(_PATH)] if parent is None else _validate_parent(parent)
    return [*errors, invalid(_PATH, None, "field is immutable")]


def parent_of(decoded: Object) -> str:
    parent = _parent(decoded)
    if parent is None:
        return "<none>"
    group = f".{parent['group']}" if parent.get("group") else ""
    parts = [f"{parent.get('resource', '')}{group}".lower(), parent.get("namespace", ""), parent.get("name", "")]
    return "/".join(part for i, part in enumerate(parts) if part or i != 1)


RESOURCE = Resource(
    group="networking.k8s.io",
    version="v1",
    kind="IPAddress",
    strategy=Strategy(default=default, validate=validate, validate_update=validate_update, validate_name=validate_name),
    columns=(NAME, Column("ParentRef", parent_of), Column("Age", created_at, show=age, hidden=True)),
)
