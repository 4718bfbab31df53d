"""The standards: which checks a level has, by version, in the order in which their findings are told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import TypeAlias

from kapi.admission.podsecurity import baseline, restricted
from kapi.admission.podsecurity.pod import Pod, Violation
from kapi.admission.podsecurity.policy import BASELINE, PRIVILEGED, LevelVersion

Run: TypeAlias = Callable[[Pod], Violation | None]


@dataclass(frozen=True, slots=True)
class Check:
    """`since` has each form of the check with the minor version it came with. It may stand for a weaker check."""

    id: str
    since: tuple[tuple[int, Run], ...]
    overrides: str = ""

    def at(self, version: int) -> Run | None:
        return next((run for first, run in reversed(self.since) if version >= first), None)


BASELINE_CHECKS = (
    Check("appArmorProfile", ((0, baseline.app_armor_profile),)),
    Check("capabilities_baseline", ((0, baseline.capabilities),)),
    Check("hostNamespaces", ((0, baseline.host_namespaces),)),
    Check("hostPathVolumes", ((0, baseline.host_path_volumes),)),
    Check("hostPorts", ((0, baseline.host_ports),)),
    Check("hostProbesAndHostLifecycle", ((34, baseline.host_probes_and_lifecycle),)),
    Check("privileged", ((0, baseline.privileged),)),
    Check("procMount", ((0, baseline.proc_mount), (35, baseline.proc_mount_35))),
    Check("seLinuxOptions", ((0, baseline.selinux_options), (31, baseline.selinux_options_31))),
    Check("seccompProfile_baseline", ((0, baseline.seccomp_annotations), (19, baseline.seccomp_profile))),
    Check(
        "sysctls",
        (
            (0, baseline.sysctls),
            (27, baseline.sysctls_27),
            (29, baseline.sysctls_29),
            (32, baseline.sysctls_32),
            (37, baseline.sysctls_37),
        ),
    ),
    Check("windowsHostProcess", ((0, baseline.windows_host_process),)),
)
RESTRICTED_CHECKS = (
    Check(
        "allowPrivilegeEscalation",
        ((8, restricted.privilege_escalation), (25, restricted.privilege_escalation_25)),
    ),
    Check(
        "capabilities_restricted",
        ((22, restricted.capabilities), (25, restricted.capabilities_25)),
        overrides="capabilities_baseline",
    ),
    Check("procMount_restricted", ((35, baseline.proc_mount),), overrides="procMount"),
    Check("restrictedVolumes", ((0, restricted.volumes),), overrides="hostPathVolumes"),
    Check("runAsNonRoot", ((0, restricted.run_as_non_root), (35, restricted.run_as_non_root_35))),
    Check("runAsUser", ((23, restricted.run_as_user), (35, restricted.run_as_user_35))),
    Check(
        "seccompProfile_restricted",
        ((19, restricted.seccomp), (25, restricted.seccomp_25)),
        overrides="seccompProfile_baseline",
    ),
)
NEWEST = max(first for check in (*BASELINE_CHECKS, *RESTRICTED_CHECKS) for first, _ in check.since)


def violations(wanted: LevelVersion, pod: Pod) -> list[Violation]:
    """What a pod does that the level forbids."""
    if wanted.level == PRIVILEGED:
        return []
    runs = _checks(wanted.level, min(wanted.version, NEWEST))
    return [found for run in runs if (found := run(pod)) is not None]


@cache
def _checks(level: str, version: int) -> tuple[Run, ...]:
    extra = [] if level == BASELINE else [c for c in RESTRICTED_CHECKS if c.at(version) is not None]
    overridden = {check.overrides for check in extra}
    kept = [check for check in BASELINE_CHECKS if check.id not in overridden]
    return tuple(run for check in (*kept, *extra) if (run := check.at(version)) is not None)
