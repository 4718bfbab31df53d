"""The restricted checks: what a hardened pod does without, and what it must say."""

from __future__ import annotations

from kapi.admission.podsecurity.baseline import bad_seccomp, seccomp_profile
from kapi.admission.podsecurity.pod import Pod, Violation, containers, plural, quoted, setters
from kapi.api.objects import Object

_VOLUMES = (
    "configMap",
    "csi",
    "downwardAPI",
    "emptyDir",
    "ephemeral",
    "image",
    "persistentVolumeClaim",
    "projected",
    "secret",
)
_OTHER_VOLUMES = (
    "hostPath",
    "gcePersistentDisk",
    "awsElasticBlockStore",
    "gitRepo",
    "nfs",
    "iscsi",
    "glusterfs",
    "rbd",
    "flexVolume",
    "cinder",
    "cephfs",
    "flocker",
    "fc",
    "azureFile",
    "vsphereVolume",
    "quobyte",
    "azureDisk",
    "photonPersistentDisk",
    "portworxVolume",
    "scaleIO",
    "storageos",
)


def privilege_escalation(pod: Pod) -> Violation | None:
    names = pod.named(lambda context: context.get("allowPrivilegeEscalation") is not False)
    detail = f"{containers(names)} must set securityContext.allowPrivilegeEscalation=false"
    return Violation("allowPrivilegeEscalation != false", detail) if names else None


def privilege_escalation_25(pod: Pod) -> Violation | None:
    return None if pod.is_windows else privilege_escalation(pod)


def capabilities(pod: Pod) -> Violation | None:
    def added(context: Object) -> set[str]:
        return set((context.get("capabilities") or {}).get("add") or ()) - {"NET_BIND_SERVICE"}

    keeping = pod.named(lambda context: "ALL" not in ((context.get("capabilities") or {}).get("drop") or ()))
    details = [f'{containers(keeping)} must set securityContext.capabilities.drop=["ALL"]'] if keeping else []
    adding = pod.named(added)
    if adding:
        wrong = sorted(set().union(*(added(c.get("securityContext") or {}) for c in pod.containers())))
        details.append(f"{containers(adding)} must not include {quoted(wrong)} in securityContext.capabilities.add")
    return Violation("unrestricted capabilities", "; ".join(details)) if details else None


def capabilities_25(pod: Pod) -> Violation | None:
    return None if pod.is_windows else capabilities(pod)


def volumes(pod: Pod) -> Violation | None:
    wrong = [v for v in pod.spec.get("volumes") or () if all(v.get(kind) is None for kind in _VOLUMES)]
    if not wrong:
        return None
    kinds = sorted({next((k for k in _OTHER_VOLUMES if v.get(k) is not None), "unknown") for v in wrong})
    names = quoted(v.get("name", "") for v in wrong)
    which = plural(len(kinds), "restricted volume type", "restricted volume types")
    uses = plural(len(wrong), "uses", "use")
    detail = f"{plural(len(wrong), 'volume', 'volumes')} {names} {uses} {which} {quoted(kinds)}"
    return Violation("restricted volume types", detail)


def run_as_non_root(pod: Pod) -> Violation | None:
    who = setters(
        pod=pod.context.get("runAsNonRoot") is False,
        names=pod.named(lambda context: context.get("runAsNonRoot") is False),
    )
    if who:
        return Violation("runAsNonRoot != true", f"{who} must not set securityContext.runAsNonRoot=false")
    if pod.context.get("runAsNonRoot"):
        return None
    names = pod.named(lambda context: context.get("runAsNonRoot") is None)
    detail = f"pod or {containers(names)} must set securityContext.runAsNonRoot=true"
    return Violation("runAsNonRoot != true", detail) if names else None


def run_as_non_root_35(pod: Pod) -> Violation | None:
    return None if pod.has_own_users else run_as_non_root(pod)


def run_as_user(pod: Pod) -> Violation | None:
    who = setters(pod=pod.context.get("runAsUser") == 0, names=pod.named(lambda context: context.get("runAsUser") == 0))
    return Violation("runAsUser=0", f"{who} must not set runAsUser=0") if who else None


def run_as_user_35(pod: Pod) -> Violation | None:
    return None if pod.has_own_users else run_as_user(pod)


def seccomp(pod: Pod) -> Violation | None:
    """Not only no bad profile, but a good one."""
    explicit = seccomp_profile(pod)
    is_set = pod.context.get("seccompProfile") is not None and bad_seccomp(pod.context) is None
    if explicit is not None or is_set:
        return explicit
    names = pod.named(lambda context: context.get("seccompProfile") is None)
    wanted = 'securityContext.seccompProfile.type to "RuntimeDefault" or "Localhost"'
    return Violation("seccompProfile", f"pod or {containers(names)} must set {wanted}") if names else None


def seccomp_25(pod: Pod) -> Violation | None:
    return None if pod.is_windows else seccomp(pod)
