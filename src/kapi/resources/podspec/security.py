"""Security contexts, of pods and of containers: users, profiles, sysctls."""

from __future__ import annotations

import re

from kapi.api.fields import FieldError, duplicate, forbidden, invalid, not_supported, required, too_long
from kapi.api.formats import user_id, validate_descending_path
from kapi.api.objects import Object
from kapi.resources.podspec.context import WINDOWS, Context, containers_with_path, go_struct
from kapi.resources.podspec.windows import validate_windows_options

PROFILE_TYPES = ("Localhost", "RuntimeDefault", "Unconfined")
_PROC_MOUNTS = ("Default", "Unmasked")
_FS_GROUP_POLICIES = ("Always", "OnRootMismatch")
_GROUP_POLICIES = ("Merge", "Strict")
_SELINUX_POLICIES = ("MountOption", "Recursive")
_PATH_MAX = 4095
_SEGMENT = "[a-z0-9]([-_a-z0-9]*[a-z0-9])?"
_SYSCTL = rf"^({_SEGMENT}[\./])*{_SEGMENT}$"
_is_sysctl = re.compile(rf"({_SEGMENT}[\./])*{_SEGMENT}\Z").match
# The separator that comes first separates; the other is a part of names.
_SWAPPED = str.maketrans("./", "/.")
_IPC_SYSCTLS = frozenset(
    (
        "kernel.sem",
        "kernel.shmall",
        "kernel.shmmax",
        "kernel.shmmni",
        "kernel.shm_rmid_forced",
        "kernel.shm",
        "kernel.msgmax",
        "kernel.msgmnb",
        "kernel.msgmni",
        "kernel.msg",
    )
)
_CONTEXT_FIELDS = (
    "capabilities",
    "privileged",
    "seLinuxOptions",
    "windowsOptions",
    "runAsUser",
    "runAsGroup",
    "runAsNonRoot",
    "readOnlyRootFilesystem",
    "allowPrivilegeEscalation",
    "procMount",
    "seccompProfile",
    "appArmorProfile",
)
_NOT_ON_WINDOWS = "cannot be set for a windows pod"
_POD_LINUX_FIELDS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "fsGroup",
    "fsGroupChangePolicy",
    "sysctls",
    "runAsUser",
    "runAsGroup",
    "supplementalGroups",
    "supplementalGroupsPolicy",
    "seLinuxChangePolicy",
)
_CONTAINER_LINUX_FIELDS = (
    "appArmorProfile",
    "seLinuxOptions",
    "seccompProfile",
    "capabilities",
    "readOnlyRootFilesystem",
    "privileged",
    "allowPrivilegeEscalation",
    "procMount",
    "runAsUser",
    "runAsGroup",
)


def validate_security_context(security: Object, context: Context, path: str) -> list[FieldError]:
    if not security:
        return []
    errors: list[FieldError] = []
    get = security.get
    if get("privileged") and not context.allow_privileged:
        errors.append(forbidden(f"{path}.privileged", "disallowed by cluster policy"))
    errors += _validate_ids(security, ("runAsUser", "runAsGroup"), path)
    mount = get("procMount")
    if mount is not None:
        if mount not in _PROC_MOUNTS:
            errors.append(not_supported(f"{path}.procMount", mount, _PROC_MOUNTS))
        if mount == "Unmasked" and context.host_users:
            errors.append(invalid(f"{path}.procMount", mount, "`hostUsers` must be false to use `Unmasked`"))
    errors += _validate_seccomp(get("seccompProfile"), f"{path}.seccompProfile")
    if get("allowPrivilegeEscalation") is False:
        errors += _validate_no_escalation(security, path)
    errors += validate_windows_options(get("windowsOptions"), f"{path}.windowsOptions")
    return errors + validate_app_armor(get("appArmorProfile"), f"{path}.appArmorProfile")


def _validate_no_escalation(security: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    shown = go_struct(security, *_CONTEXT_FIELDS)
    if security.get("privileged"):
        detail = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
        errors.append(invalid(path, shown, detail))
    detail = "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"
    added = (security.get("capabilities") or {}).get("add") or ()
    return errors + [invalid(path, shown, detail) for name in added if name == "CAP_SYS_ADMIN"]


def _validate_ids(security: Object, fields: tuple[str, ...], path: str) -> list[FieldError]:
    return [
        invalid(f"{path}.{field}", security[field], e)
        for field in fields
        if security.get(field) is not None
        for e in user_id(security[field])
    ]


def validate_pod_security_context(security: Object, spec: Object, path: str) -> list[FieldError]:
    if not security:
        return []
    get = security.get
    errors = _validate_ids(security, ("fsGroup", "runAsUser", "runAsGroup"), path)
    for i, group in enumerate(get("supplementalGroups") or ()):
        errors += [invalid(f"{path}.supplementalGroups[{i}]", group, e) for e in user_id(group)]
    if get("sysctls"):
        errors += _validate_sysctls(security["sysctls"], spec, f"{path}.sysctls")
    errors += _validate_policy(security, "fsGroupChangePolicy", _FS_GROUP_POLICIES, path)
    errors += _validate_seccomp(get("seccompProfile"), f"{path}.seccompProfile")
    errors += validate_windows_options(get("windowsOptions"), f"{path}.windowsOptions")
    errors += validate_app_armor(get("appArmorProfile"), f"{path}.appArmorProfile")
    errors += _validate_policy(security, "supplementalGroupsPolicy", _GROUP_POLICIES, path)
    return errors + _validate_policy(security, "seLinuxChangePolicy", _SELINUX_POLICIES, path)


def _validate_policy(security: Object, field: str, supported: tuple[str, ...], path: str) -> list[FieldError]:
    policy = security.get(field)
    if policy is None or policy in supported:
        return []
    return [not_supported(f"{path}.{field}", policy, supported)]


def _validate_sysctls(sysctls: list[Object], spec: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        name, at = sysctl.get("name") or "", f"{path}[{i}].name"
        if not name:
            errors.append(required(at))
        elif len(name) > 253 or not _is_sysctl(name):
            errors.append(invalid(at, name, f"must have at most 253 characters and match regex {_SYSCTL}"))
        elif name in names:
            errors.append(duplicate(at, name))
        errors += _validate_host_sysctl(name, spec, at)
        names.add(name)
    return errors


def _validate_host_sysctl(name: str, spec: Object, path: str) -> list[FieldError]:
    """What belongs to a namespace of the kernel cannot be set for a pod that shares the host's."""
    first = next((c for c in name if c in "./"), ".")
    dotted = name.translate(_SWAPPED) if first == "/" else name
    if spec.get("hostNetwork") and dotted.startswith("net."):
        return [invalid(path, name, "may not be specified when 'hostNetwork' is true")]
    if spec.get("hostIPC") and (dotted in _IPC_SYSCTLS or dotted.startswith("fs.mqueue.")):
        return [invalid(path, name, "may not be specified when 'hostIPC' is true")]
    return []


def _validate_seccomp(profile: Object | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, file = profile.get("type") or "", profile.get("localhostProfile")
    errors: list[FieldError] = []
    if not kind:
        errors.append(required(f"{path}.type", "type is required when seccompProfile is set"))
    elif kind not in PROFILE_TYPES:
        errors.append(not_supported(f"{path}.type", kind, PROFILE_TYPES))
    if kind != "Localhost":
        if file is not None:
            shown = go_struct(profile, "type", "localhostProfile")
            detail = "can only be set when seccomp type is Localhost"
            errors.append(invalid(f"{path}.localhostProfile", shown, detail))
    elif file is None:
        errors.append(required(f"{path}.localhostProfile", "must be set when seccomp type is Localhost"))
    else:
        errors += validate_descending_path(file, f"{path}.localhostProfile")
    return errors


def validate_app_armor(profile: Object | None, path: str) -> list[FieldError]:
    if profile is None:
        return []
    kind, name = profile.get("type") or "", profile.get("localhostProfile")
    if kind == "Localhost":
        return _validate_local_app_armor(name, f"{path}.localhostProfile")
    if not kind:
        return [required(f"{path}.type", "type is required when appArmorProfile is set")]
    if kind not in PROFILE_TYPES:
        return [not_supported(f"{path}.type", kind, PROFILE_TYPES)]
    if name is not None:
        return [invalid(f"{path}.localhostProfile", name, "can only be set when AppArmor type is Localhost")]
    return []


def _validate_local_app_armor(name: str | None, path: str) -> list[FieldError]:
    if name is None:
        return [required(path, "must be set when AppArmor type is Localhost")]
    errors: list[FieldError] = []
    if name.strip() != name:
        errors.append(invalid(path, name, "must not be padded with whitespace"))
    elif not name:
        errors.append(required(path, "must be set when AppArmor type is Localhost"))
    if len(name.encode()) > _PATH_MAX:
        errors.append(too_long(path, _PATH_MAX))
    return errors


def validate_os(spec: Object, path: str) -> list[FieldError]:
    """A pod that names its operating system sets nothing of the other's."""
    name = spec["os"].get("name") or ""
    if not name:
        return [required(f"{path}.os.name")]
    if name not in ("linux", WINDOWS):
        return [not_supported(f"{path}.os", name, ("linux", WINDOWS))]
    return _validate_windows(spec, path) if name == WINDOWS else _validate_linux(spec, path)


def _validate_linux(spec: Object, path: str) -> list[FieldError]:
    detail = "windows options cannot be set for a linux pod"
    holders = [(spec, path), *containers_with_path(spec, path)]
    return [
        forbidden(f"{at}.securityContext.windowsOptions", detail)
        for holder, at in holders
        if (holder.get("securityContext") or {}).get("windowsOptions") is not None
    ]


def _validate_windows(spec: Object, path: str) -> list[FieldError]:
    def held(holder: Object, fields: tuple[str, ...], at: str) -> list[FieldError]:
        security = holder.get("securityContext") or {}
        return [forbidden(f"{at}.securityContext.{f}", _NOT_ON_WINDOWS) for f in fields if security.get(f) is not None]

    errors = held(spec, _POD_LINUX_FIELDS, path)
    errors += [
        forbidden(f"{path}.{field}", _NOT_ON_WINDOWS)
        for field in ("hostUsers", "hostPID", "hostIPC", "shareProcessNamespace")
        if spec.get(field) is not None and (spec[field] or field in ("hostUsers", "shareProcessNamespace"))
    ]
    for container, at in containers_with_path(spec, path):
        errors += held(container, _CONTAINER_LINUX_FIELDS, at)
    return errors
