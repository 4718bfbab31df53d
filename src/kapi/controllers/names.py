"""The names of the controllers: those of kube-controller-manager, and the older ones that it still takes."""

from __future__ import annotations

from collections.abc import Iterable

NAMESPACE = "namespace-controller"
GARBAGE_COLLECTOR = "garbage-collector-controller"
SERVICE_ACCOUNT = "serviceaccount-controller"
ROOT_CA = "root-ca-certificate-publisher-controller"
LEGACY_TOKENS = "legacy-serviceaccount-token-cleaner-controller"
RESOURCE_QUOTA = "resourcequota-controller"
CLUSTER_ROLES = "clusterrole-aggregation-controller"
CLAIM_PROTECTION = "persistentvolumeclaim-protection-controller"
VOLUME_PROTECTION = "persistentvolume-protection-controller"
ATTRIBUTES_CLASS_PROTECTION = "volumeattributesclass-protection-controller"
FINISHED_JOBS = "ttl-after-finished-controller"
DISRUPTION = "disruption-controller"
POLICY_STATUS = "validatingadmissionpolicy-status-controller"

_OLDER = {
    "namespace": NAMESPACE,
    "garbagecollector": GARBAGE_COLLECTOR,
    "serviceaccount": SERVICE_ACCOUNT,
    "root-ca-cert-publisher": ROOT_CA,
    "root-ca-certificate-publisher": ROOT_CA,
    "legacy-service-account-token-cleaner": LEGACY_TOKENS,
    "resourcequota": RESOURCE_QUOTA,
    "clusterrole-aggregation": CLUSTER_ROLES,
    "pvc-protection": CLAIM_PROTECTION,
    "pv-protection": VOLUME_PROTECTION,
    "ttl-after-finished": FINISHED_JOBS,
    "disruption": DISRUPTION,
    "validatingadmissionpolicy-status": POLICY_STATUS,
}

CONTROLLERS = tuple(
    sorted(
        (
            NAMESPACE,
            GARBAGE_COLLECTOR,
            SERVICE_ACCOUNT,
            ROOT_CA,
            LEGACY_TOKENS,
            RESOURCE_QUOTA,
            CLUSTER_ROLES,
            CLAIM_PROTECTION,
            VOLUME_PROTECTION,
            ATTRIBUTES_CLASS_PROTECTION,
            FINISHED_JOBS,
            DISRUPTION,
            POLICY_STATUS,
        )
    )
)


def chosen(asked: Iterable[str]) -> list[str]:
    """The controllers that a list of names asks for; ValueError names the first that there is not."""
    wanted: set[str] = set()
    for name in asked:
        if name in ("all", "*"):
            wanted.update(CONTROLLERS)
        elif (known := _OLDER.get(name, name)) in CONTROLLERS:
            wanted.add(known)
        else:
            raise ValueError(f"there is no controller {name}; there are {', '.join(('all', *CONTROLLERS))}")
    return sorted(wanted)
