"""Windows options of security contexts."""

from __future__ import annotations

import re

from kapi.api.fields import FieldError, forbidden, invalid
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.resources.podspec.context import Context, containers_with_path

_SPEC_KIB = 64
_DOMAIN_LENGTH, _USER_LENGTH = 256, 104
_LABEL = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?"
_has_control = re.compile(r"[\x00-\x1f\x7f]").search
_is_net_bios = re.compile(r'[^\\/:*?"<>|.][^\\/:*?"<>|]{0,14}\Z').match
_is_dns = re.compile(rf"{_LABEL}(?:\.{_LABEL})*\Z").match
_has_forbidden = re.compile(r'["/\\:;|=,+*?<>@\[\]]').search


def validate_windows_options(options: Object | None, path: str) -> list[FieldError]:
    if not options:
        return []
    errors: list[FieldError] = []
    name, spec, user = (options.get(f) for f in ("gmsaCredentialSpecName", "gmsaCredentialSpec", "runAsUserName"))
    if name is not None:
        errors += [invalid(f"{path}.gmsaCredentialSpecName", name, e) for e in dns_subdomain(name)]
    if spec is not None:
        size = len(spec.encode())
        if not size:
            errors.append(invalid(f"{path}.gmsaCredentialSpec", spec, "gmsaCredentialSpec cannot be an empty string"))
        elif size > _SPEC_KIB * 1024:
            detail = f"gmsaCredentialSpec size must be under {_SPEC_KIB} KiB"
            errors.append(invalid(f"{path}.gmsaCredentialSpec", spec, detail))
    if user is not None:
        errors += [invalid(f"{path}.runAsUserName", user, e) for e in _user_problems(user)]
    return errors


def _user_problems(name: str) -> list[str]:
    """`user` or `DOMAIN\\user`."""
    if not name:
        return ["runAsUserName cannot be an empty string"]
    if _has_control(name):
        return ["runAsUserName cannot contain control characters"]
    if name.count("\\") > 1:
        return ["runAsUserName cannot contain more than one backslash"]
    domain, backslash, user = name.rpartition("\\")
    problems: list[str] = []
    if len(domain.encode()) >= _DOMAIN_LENGTH:
        problems.append(f"runAsUserName's Domain length must be under {_DOMAIN_LENGTH} characters")
    if backslash and not (_is_net_bios(domain) or _is_dns(domain)):
        problems.append("runAsUserName's Domain doesn't match the NetBios nor the DNS format")
    if not user:
        problems.append("runAsUserName's User cannot be empty")
    elif len(user.encode()) > _USER_LENGTH:
        problems.append(f"runAsUserName's User length must not be longer than {_USER_LENGTH} characters")
    if user and not user.strip(". "):
        problems.append("runAsUserName's User cannot contain only periods or spaces")
    if _has_forbidden(user):
        problems.append("runAsUserName's User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return problems


def _host_process(holder: Object) -> bool | None:
    options = (holder.get("securityContext") or {}).get("windowsOptions") or {}
    value: bool | None = options.get("hostProcess")
    return value


def validate_host_process(spec: Object, context: Context, path: str) -> list[FieldError]:
    """Containers that are processes of the host: all or none."""
    of_pod = _host_process(spec)
    errors: list[FieldError] = []
    count = processes = 0
    for container, at in containers_with_path(spec, path):
        count += 1
        own = _host_process(container)
        if of_pod is not None and own is not None and of_pod != own:
            shown = "true" if of_pod else "false"
            detail = f"pod hostProcess value must be identical if both are specified, was {shown}"
            errors.append(invalid(f"{at}.securityContext.windowsOptions.hostProcess", own, detail))
        processes += bool(of_pod if own is None else own)
    if not processes:
        return errors
    if processes != count:
        detail = "If pod contains any hostProcess containers then all containers must be HostProcess containers"
        errors.append(invalid(path, "", detail))
    if not spec.get("hostNetwork"):
        detail = "hostNetwork must be true if pod contains any hostProcess containers"
        errors.append(invalid(f"{path}.hostNetwork", False, detail))
    if not context.allow_privileged:
        errors.append(forbidden(path, "hostProcess containers are disallowed by cluster policy"))
    return errors
