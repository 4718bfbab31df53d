"""The resources that plugins look at, by name."""

from __future__ import annotations

from typing import Final

from kapi.api.gvk import GroupResource

CLUSTER_TRUST_BUNDLES: Final = GroupResource("certificates.k8s.io", "clustertrustbundles")
CSI_DRIVERS: Final = GroupResource("storage.k8s.io", "csidrivers")
CSI_NODES: Final = GroupResource("storage.k8s.io", "csinodes")
EVENTS: Final = GroupResource("", "events")
INGRESS_CLASSES: Final = GroupResource("networking.k8s.io", "ingressclasses")
INGRESSES: Final = GroupResource("networking.k8s.io", "ingresses")
LEASES: Final = GroupResource("coordination.k8s.io", "leases")
# What upstream's listers call what they do not find.
LISTED_NODE: Final = GroupResource("", "node")
LISTED_POD: Final = GroupResource("", "pod")
LIMIT_RANGES: Final = GroupResource("", "limitranges")
MUTATING_WEBHOOKS: Final = GroupResource("admissionregistration.k8s.io", "mutatingwebhookconfigurations")
MUTATING_POLICIES: Final = GroupResource("admissionregistration.k8s.io", "mutatingadmissionpolicies")
MUTATING_POLICY_BINDINGS: Final = GroupResource("admissionregistration.k8s.io", "mutatingadmissionpolicybindings")
NAMESPACES: Final = GroupResource("", "namespaces")
NODES: Final = GroupResource("", "nodes")
PERSISTENT_VOLUMES: Final = GroupResource("", "persistentvolumes")
PERSISTENT_VOLUME_CLAIMS: Final = GroupResource("", "persistentvolumeclaims")
POD_CERTIFICATE_REQUESTS: Final = GroupResource("certificates.k8s.io", "podcertificaterequests")
PODS: Final = GroupResource("", "pods")
PRIORITY_CLASSES: Final = GroupResource("scheduling.k8s.io", "priorityclasses")
RESOURCE_CLAIMS: Final = GroupResource("resource.k8s.io", "resourceclaims")
RESOURCE_QUOTAS: Final = GroupResource("", "resourcequotas")
RESOURCE_SLICES: Final = GroupResource("resource.k8s.io", "resourceslices")
RUNTIME_CLASSES: Final = GroupResource("node.k8s.io", "runtimeclasses")
SERVICE_ACCOUNTS: Final = GroupResource("", "serviceaccounts")
SERVICES: Final = GroupResource("", "services")
SIGNING_REQUESTS: Final = GroupResource("certificates.k8s.io", "certificatesigningrequests")
STORAGE_CLASSES: Final = GroupResource("storage.k8s.io", "storageclasses")
VALIDATING_WEBHOOKS: Final = GroupResource("admissionregistration.k8s.io", "validatingwebhookconfigurations")
VALIDATING_POLICIES: Final = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicies")
VALIDATING_POLICY_BINDINGS: Final = GroupResource("admissionregistration.k8s.io", "validatingadmissionpolicybindings")
# As upstream: whoever judges these could lock everybody out, so neither policies nor webhooks are asked about them.
REVIEWS: Final = frozenset(
    (
        GroupResource("authentication.k8s.io", "selfsubjectreviews"),
        GroupResource("authentication.k8s.io", "tokenreviews"),
        GroupResource("authorization.k8s.io", "localsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectaccessreviews"),
        GroupResource("authorization.k8s.io", "selfsubjectrulesreviews"),
        GroupResource("authorization.k8s.io", "subjectaccessreviews"),
    )
)
