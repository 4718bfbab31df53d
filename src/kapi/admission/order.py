"""The order of all admission plugins, and which of them run by default: one list, read from top to bottom."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Registration:
    """A plugin by the name that flags know it by, and the module in `plugins` that builds it.

    The module is imported only if the plugin runs. One without a module is known by name, but does nothing yet.
    """

    name: str
    module: str
    on: bool = True  # by default


PLUGINS = (
    Registration("AlwaysAdmit", "always_admit", on=False),
    Registration("NamespaceAutoProvision", "namespace_auto_provision", on=False),
    Registration("NamespaceLifecycle", "namespace_lifecycle"),
    Registration("NamespaceExists", "namespace_exists", on=False),
    Registration("LimitPodHardAntiAffinityTopology", "limit_pod_hard_anti_affinity_topology", on=False),
    Registration("LimitRanger", "limit_ranger"),
    Registration("ServiceAccount", "service_account"),
    Registration("NodeRestriction", "node_restriction", on=False),
    Registration("TaintNodesByCondition", "taint_nodes_by_condition"),
    Registration("AlwaysPullImages", "always_pull_images", on=False),
    Registration("ImagePolicyWebhook", "image_policy_webhook", on=False),
    Registration("PodSecurity", "pod_security"),
    Registration("PodNodeSelector", "pod_node_selector", on=False),
    Registration("Priority", "priority"),
    Registration("DefaultTolerationSeconds", "default_toleration_seconds"),
    Registration("PodTolerationRestriction", "pod_toleration_restriction", on=False),
    Registration("EventRateLimit", "event_rate_limit", on=False),
    Registration("ExtendedResourceToleration", "extended_resource_toleration", on=False),
    Registration("DefaultStorageClass", "default_storage_class"),
    Registration("StorageObjectInUseProtection", "storage_object_in_use_protection"),
    Registration("PodGroupProtection", "pod_group_protection"),
    Registration("OwnerReferencesPermissionEnforcement", "owner_references_permission_enforcement", on=False),
    Registration("PersistentVolumeClaimResize", "persistent_volume_claim_resize"),
    Registration("RuntimeClass", "runtime_class"),
    Registration("CertificateApproval", "certificate_approval"),
    Registration("CertificateSigning", "certificate_signing"),
    Registration("ClusterTrustBundleAttest", "cluster_trust_bundle_attest"),
    Registration("CertificateSubjectRestriction", "certificate_subject_restriction"),
    Registration("DefaultIngressClass", "default_ingress_class"),
    Registration("DenyServiceExternalIPs", "deny_service_external_ips", on=False),
    Registration("PodTopologyLabels", "pod_topology_labels"),
    Registration("NodeDeclaredFeatureValidator", "node_declared_feature_validator"),
    Registration("PodResizeValidator", "pod_resize_validator"),
    Registration("AdmissionFunctions", "admission_functions"),  # kapi's own: see admission/functions.py
    Registration("MutatingAdmissionPolicy", "mutating_admission_policy"),
    Registration("MutatingAdmissionWebhook", "mutating_admission_webhook"),
    Registration("ValidatingAdmissionPolicy", "validating_admission_policy"),
    Registration("ValidatingAdmissionWebhook", "validating_admission_webhook"),
    Registration("ResourceQuota", "resource_quota"),
    Registration("AlwaysDeny", "always_deny", on=False),
)

KNOWN = frozenset(plugin.name for plugin in PLUGINS)
DEFAULT = frozenset(plugin.name for plugin in PLUGINS if plugin.on)
# What names of former releases are refused with.
REMOVED: Mapping[str, str] = {
    "DenyEscalatingExec": "it was removed in 1.21; use PodSecurity or an admission policy",
    "DenyExecOnPrivileged": "it was removed in 1.21; use PodSecurity or an admission policy",
    "InitialResources": "it was removed in 1.12",
    "Initializers": "it was removed in 1.14; use MutatingAdmissionWebhook",
    "LimitRangerV1": "use LimitRanger",
    "PersistentVolumeLabel": "it was removed in 1.31; cloud controllers label volumes",
    "PodPreset": "it was removed in 1.20; use MutatingAdmissionWebhook or MutatingAdmissionPolicy",
    "PodSecurityPolicy": "it was removed in 1.25; use PodSecurity",
    "PVCProtection": "it was renamed to StorageObjectInUseProtection",
    "ResourceQuotaV2": "use ResourceQuota",
    "SecurityContextDeny": "it was removed in 1.30; use PodSecurity",
}


def enabled_plugins(
    enable: Collection[str], disable: Collection[str], exactly: Collection[str] = ()
) -> tuple[Registration, ...]:
    """Those that run, in their order. `exactly` names all of them, as the old flag does."""
    names = set(exactly) if exactly else (DEFAULT - set(disable)) | set(enable)
    return tuple(plugin for plugin in PLUGINS if plugin.name in names)
