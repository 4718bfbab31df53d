"""The labels that a node may give itself: none that would bring it workloads it should not have."""

from __future__ import annotations

from collections.abc import Mapping

_OWN = frozenset(
    (
        "kubernetes.io/hostname",
        "topology.kubernetes.io/zone",
        "topology.kubernetes.io/region",
        "failure-domain.beta.kubernetes.io/zone",
        "failure-domain.beta.kubernetes.io/region",
        "beta.kubernetes.io/instance-type",
        "node.kubernetes.io/instance-type",
        "kubernetes.io/os",
        "kubernetes.io/arch",
        "beta.kubernetes.io/os",
        "beta.kubernetes.io/arch",
    )
)
_OWN_DOMAINS = ("kubelet.kubernetes.io", "node.kubernetes.io")
_RESERVED = ("kubernetes.io", "k8s.io")
_RESTRICTED = ("node-restriction.kubernetes.io",)


def forbidden_changes(new: Mapping[str, str], old: Mapping[str, str]) -> list[str]:
    changed = {key for key in {*new, *old} if new.get(key) != old.get(key)}
    return sorted(key for key in changed if _is_forbidden(key))


def _is_forbidden(key: str) -> bool:
    domain = key.partition("/")[0] if "/" in key else ""
    if _within(domain, _RESTRICTED):
        return True
    return _within(domain, _RESERVED) and key not in _OWN and not _within(domain, _OWN_DOMAINS)


def _within(domain: str, domains: tuple[str, ...]) -> bool:
    return any(domain == d or domain.endswith(f".{d}") for d in domains)
