"""The baseline checks: nothing that is known to break out of a container."""

from __future__ import annotations

from collections.abc import Iterator

from kapi.admission.podsecurity.pod import Pod, Violation, containers, plural, quoted, setters
from kapi.api.objects import Object

_CAPABILITIES = frozenset(
    (
        "AUDIT_WRITE",
        "CHOWN",
        "DAC_OVERRIDE",
        "FOWNER",
        "FSETID",
        "KILL",
        "MKNOD",
        "NET_BIND_SERVICE",
        "SETFCAP",
        "SETGID",
        "SETPCAP",
        "SETUID",
        "SYS_CHROOT",
    )
)
_APPARMOR = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER = "container.seccomp.security.alpha.kubernetes.io/"
_PROFILES = ("RuntimeDefault", "Localhost")
_SELINUX_TYPES = frozenset(("", "container_t", "container_init_t", "container_kvm_t"))
_SYSCTLS = frozenset(
    (
        "kernel.shm_rmid_forced",
        "net.ipv4.ip_local_port_range",
        "net.ipv4.tcp_syncookies",
        "net.ipv4.ping_group_range",
        "net.ipv4.ip_unprivileged_port_start",
    )
)
_SYSCTLS_27 = _SYSCTLS | {"net.ipv4.ip_local_reserved_ports"}
_SYSCTLS_29 = _SYSCTLS_27 | {
    "net.ipv4.tcp_keepalive_time",
    "net.ipv4.tcp_fin_timeout",
    "net.ipv4.tcp_keepalive_intvl",
    "net.ipv4.tcp_keepalive_probes",
}
_SYSCTLS_32 = _SYSCTLS_29 | {"net.ipv4.tcp_rmem", "net.ipv4.tcp_wmem"}
_SYSCTLS_37 = _SYSCTLS_32 | {"net.ipv4.tcp_slow_start_after_idle", "net.ipv4.tcp_notsent_lowat"}


def app_armor_profile(pod: Pod) -> Violation | None:
    def bad_type(context: Object) -> str | None:
        profile = context.get("appArmorProfile")
        return profile.get("type", "") if profile is not None and profile.get("type") not in _PROFILES else None

    names = pod.named(lambda context: bad_type(context) is not None)
    values = _distinct(bad_type(context) for context in _contexts(pod))
    who = [setters(pod=bad_type(pod.context) is not None, names=names)]
    annotations = sorted(
        f'{key}="{value}"'
        for key, value in pod.annotations.items()
        if key.startswith(_APPARMOR) and value not in ("", "runtime/default") and not value.startswith("localhost/")
    )
    if annotations:
        who.append(plural(len(annotations), "annotation", "annotations"))
        values += annotations
    said = " and ".join(filter(None, who))
    if not said:
        return None
    reason = plural(len(values), "forbidden AppArmor profile", "forbidden AppArmor profiles")
    return Violation(reason, f"{said} must not set AppArmor profile type to {quoted(values)}")


def _contexts(pod: Pod) -> Iterator[Object]:
    yield pod.context
    for container in pod.containers():
        yield container.get("securityContext") or {}


def _distinct(values: Iterator[str | None]) -> list[str]:
    return sorted({value for value in values if value is not None})


def capabilities(pod: Pod) -> Violation | None:
    def bad(context: Object) -> set[str]:
        return set((context.get("capabilities") or {}).get("add") or ()) - _CAPABILITIES

    names = pod.named(bad)
    if not names:
        return None
    added = sorted(set().union(*(bad(context) for context in _contexts(pod))))
    detail = f"{containers(names)} must not include {quoted(added)} in securityContext.capabilities.add"
    return Violation("non-default capabilities", detail)


def host_namespaces(pod: Pod) -> Violation | None:
    used = [f"{field}=true" for field in ("hostNetwork", "hostPID", "hostIPC") if pod.spec.get(field)]
    return Violation("host namespaces", ", ".join(used)) if used else None


def host_path_volumes(pod: Pod) -> Violation | None:
    names = [v.get("name", "") for v in pod.spec.get("volumes") or () if v.get("hostPath") is not None]
    detail = f"{plural(len(names), 'volume', 'volumes')} {quoted(names)}"
    return Violation("hostPath volumes", detail) if names else None


def host_ports(pod: Pod) -> Violation | None:
    names: list[str] = []
    taken: set[str] = set()
    for container in pod.containers():
        found = {str(port["hostPort"]) for port in container.get("ports") or () if port.get("hostPort")}
        if found:
            names.append(container.get("name", ""))
            taken |= found
    if not names:
        return None
    ports = sorted(taken)
    what = f"{plural(len(names), 'uses', 'use')} {plural(len(ports), 'hostPort', 'hostPorts')} {', '.join(ports)}"
    return Violation("hostPort", f"{containers(names)} {what}")


def host_probes_and_lifecycle(pod: Pod) -> Violation | None:
    used = {c.get("name", ""): found for c in pod.containers() if (found := set(_probed_hosts(c)))}
    if not used:
        return None
    hosts = sorted(set().union(*used.values()))
    which = plural(len(hosts), "probe or lifecycle host", "probe or lifecycle hosts")
    detail = f"{containers(sorted(used))} {plural(len(used), 'uses', 'use')} {which} {quoted(hosts)}"
    return Violation("probe or lifecycle host", detail)


def _probed_hosts(container: Object) -> Iterator[str]:
    lifecycle = container.get("lifecycle") or {}
    handlers = [container.get(field) for field in ("livenessProbe", "readinessProbe", "startupProbe")]
    for handler in (*handlers, lifecycle.get("postStart"), lifecycle.get("preStop")):
        for action in ("httpGet", "tcpSocket"):
            host = ((handler or {}).get(action) or {}).get("host")
            if host:
                yield host


def privileged(pod: Pod) -> Violation | None:
    names = pod.named(lambda context: context.get("privileged"))
    detail = f"{containers(names)} must not set securityContext.privileged=true"
    return Violation("privileged", detail) if names else None


def proc_mount(pod: Pod) -> Violation | None:
    def bad(context: Object) -> str | None:
        value: str | None = context.get("procMount")
        return value if value not in (None, "Default") else None

    names = pod.named(bad)
    if not names:
        return None
    values = _distinct(bad(c.get("securityContext") or {}) for c in pod.containers())
    return Violation("procMount", f"{containers(names)} must not set securityContext.procMount to {quoted(values)}")


def proc_mount_35(pod: Pod) -> Violation | None:
    return None if pod.has_own_users else proc_mount(pod)


def selinux_options(pod: Pod, types: frozenset[str] = _SELINUX_TYPES) -> Violation | None:
    def bad(context: Object) -> bool:
        options = context.get("seLinuxOptions") or {}
        return options.get("type", "") not in types or bool(options.get("user") or options.get("role"))

    who = setters(pod=bad(pod.context), names=pod.named(bad))
    if not who:
        return None
    options = [context.get("seLinuxOptions") or {} for context in _contexts(pod)]
    wrong = sorted({o.get("type", "") for o in options} - types)
    what = [f"{plural(len(wrong), 'type', 'types')} {quoted(wrong)}"] if wrong else []
    what += [f"{field} may not be set" for field in ("user", "role") if any(o.get(field) for o in options)]
    return Violation("seLinuxOptions", f"{who} set forbidden securityContext.seLinuxOptions: {'; '.join(what)}")


def selinux_options_31(pod: Pod) -> Violation | None:
    return selinux_options(pod, _SELINUX_TYPES | {"container_engine_t"})


def seccomp_annotations(pod: Pod) -> Violation | None:
    """Before 1.19 there was no field for it."""
    keys = [_SECCOMP_POD, *(_SECCOMP_CONTAINER + c.get("name", "") for c in pod.containers())]
    wrong = sorted(
        {
            f'{key}="{value}"'
            for key in keys
            if (value := pod.annotations.get(key)) is not None
            and value not in ("runtime/default", "docker/default")
            and not value.startswith("localhost/")
        }
    )
    detail = f"forbidden {plural(len(wrong), 'annotation', 'annotations')} {', '.join(wrong)}"
    return Violation("seccompProfile", detail) if wrong else None


def bad_seccomp(context: Object) -> str | None:
    profile = context.get("seccompProfile")
    return profile.get("type", "") if profile is not None and profile.get("type") not in _PROFILES else None


def seccomp_profile(pod: Pod) -> Violation | None:
    who = setters(
        pod=bad_seccomp(pod.context) is not None, names=pod.named(lambda context: bad_seccomp(context) is not None)
    )
    values = _distinct(bad_seccomp(context) for context in _contexts(pod))
    detail = f"{who} must not set securityContext.seccompProfile.type to {quoted(values)}"
    return Violation("seccompProfile", detail) if who else None


def sysctls(pod: Pod, allowed: frozenset[str] = _SYSCTLS) -> Violation | None:
    wrong = [s.get("name", "") for s in pod.context.get("sysctls") or () if s.get("name", "") not in allowed]
    return Violation("forbidden sysctls", ", ".join(wrong)) if wrong else None


def sysctls_27(pod: Pod) -> Violation | None:
    return sysctls(pod, _SYSCTLS_27)


def sysctls_29(pod: Pod) -> Violation | None:
    return sysctls(pod, _SYSCTLS_29)


def sysctls_32(pod: Pod) -> Violation | None:
    return sysctls(pod, _SYSCTLS_32)


def sysctls_37(pod: Pod) -> Violation | None:
    return sysctls(pod, _SYSCTLS_37)


def windows_host_process(pod: Pod) -> Violation | None:
    def bad(context: Object) -> bool:
        return bool((context.get("windowsOptions") or {}).get("hostProcess"))

    who = setters(pod=bad(pod.context), names=pod.named(bad))
    detail = f"{who} must not set securityContext.windowsOptions.hostProcess=true"
    return Violation("hostProcess", detail) if who else None
