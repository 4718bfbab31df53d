"""Bindings of either scope: a role, and the users, groups and service accounts that hold it."""

from __future__ import annotations

from collections.abc import Callable

from kapi.api.fields import FieldError, go_struct, invalid, not_supported, required
from kapi.api.names import dns_subdomain, path_segment
from kapi.api.objects import Object
from kapi.registry.table import AGE, NAME, Column

GROUP = "rbac.authorization.k8s.io"
_KINDS = ("ServiceAccount", "User", "Group")


def default(new: Object) -> None:
    role = new.get("roleRef")
    if isinstance(role, dict) and not role.get("apiGroup"):
        role["apiGroup"] = GROUP
    for subject in new.get("subjects") or []:
        if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
            subject["apiGroup"] = GROUP


def validate_binding(
    new: Object, kinds: tuple[str, ...], *, namespaced: bool, old: Object | None = None
) -> list[FieldError]:
    role = new.get("roleRef") or {}
    errors: list[FieldError] = []
    if role.get("apiGroup") != GROUP:
        errors.append(not_supported("roleRef.apiGroup", role.get("apiGroup", ""), [GROUP]))
    if role.get("kind") not in kinds:
        errors.append(not_supported("roleRef.kind", role.get("kind", ""), kinds, in_order=True))
    name = role.get("name", "")
    errors += [invalid("roleRef.name", name, e) for e in path_segment(name)]
    subjects = new.get("subjects") or []
    for i, subject in enumerate(subjects):
        errors += _validate_subject(subject, f"subjects[{i}]", namespaced=namespaced)
    if old is not None:
        errors += _validate_role_kept(new, old)
    # As upstream's declared rules: missing names are reported last.
    errors += [required(f"subjects[{i}].name") for i, subject in enumerate(subjects) if not subject.get("name")]
    return errors if name else [*errors, required("roleRef.name")]


def _validate_subject(subject: Object, path: str, *, namespaced: bool) -> list[FieldError]:
    name, kind, group = subject.get("name", ""), subject.get("kind", ""), subject.get("apiGroup", "")
    errors: list[FieldError] = []
    if kind == "ServiceAccount":
        if name:
            errors += [invalid(f"{path}.name", name, e) for e in dns_subdomain(name)]
        if group:
            errors.append(not_supported(f"{path}.apiGroup", group, [""]))
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind in _KINDS:
        if group != GROUP:
            errors.append(not_supported(f"{path}.apiGroup", group, [GROUP]))
    else:
        errors.append(not_supported(f"{path}.kind", kind, _KINDS, in_order=True))
    return errors


def _validate_role_kept(new: Object, old: Object) -> list[FieldError]:
    """Who holds the role may change; which role it is may not."""
    if new.get("roleRef") == old.get("roleRef"):
        return []
    return [invalid("roleRef", go_struct(new.get("roleRef")), "field is immutable")]


def _role(decoded: Object) -> str:
    role = decoded.get("roleRef") or {}
    return f"{role.get('kind', '')}/{role.get('name', '')}"


def _named(kind: str) -> Callable[[Object], str]:
    def names(decoded: Object) -> str:
        found = [s for s in decoded.get("subjects") or [] if s.get("kind") == kind]
        if kind == "ServiceAccount":
            return ", ".join(f"{s.get('namespace', '')}/{s.get('name', '')}" for s in found)
        return ", ".join(s.get("name", "") for s in found)

    return names


COLUMNS = (
    NAME,
    Column("Role", _role),
    AGE,
    Column("Users", _named("User"), priority=1),
    Column("Groups", _named("Group"), priority=1),
    Column("ServiceAccounts", _named("ServiceAccount"), priority=1),
)
