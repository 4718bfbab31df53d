"""What feature gates switch: fields and resources, by their gates.

Only gates that can be switched off are here. A field of a gate that is off is dropped from what is written, unless the
object has used the feature before.
"""

from __future__ import annotations

from collections.abc import Mapping

_CONTAINERS = ("containers[]", "initContainers[]", "ephemeralContainers[]")
_STATUSES = ("containerStatuses[]", "initContainerStatuses[]", "ephemeralContainerStatuses[]")

# In every pod's spec; `[]` stands for each item of a list.
POD_FIELDS: Mapping[str, tuple[str, ...]] = {
    "ClusterTrustBundleProjection": ("volumes[].projected.sources[].clusterTrustBundle",),
    "ContainerRestartRules": (
        "containers[].restartPolicy",
        "containers[].restartPolicyRules",
        "initContainers[].restartPolicyRules",
    ),
    "EnvFiles": tuple(f"{container}.env[].valueFrom.fileKeyRef" for container in _CONTAINERS),
    "MatchLabelKeysInPodTopologySpread": ("topologySpreadConstraints[].matchLabelKeys",),
    "PodCertificateRequest": ("volumes[].projected.sources[].podCertificate",),
    "PodLevelResources": ("resources",),
    "SELinuxMount": ("securityContext.seLinuxChangePolicy",),
}

# Where the specs of pods are, by group and kind.
POD_SPECS: Mapping[tuple[str, str], str] = {
    ("", "Pod"): "spec",
    ("", "PodTemplate"): "template.spec",
    ("", "ReplicationController"): "spec.template.spec",
    ("apps", "DaemonSet"): "spec.template.spec",
    ("apps", "Deployment"): "spec.template.spec",
    ("apps", "ReplicaSet"): "spec.template.spec",
    ("apps", "StatefulSet"): "spec.template.spec",
    ("batch", "CronJob"): "spec.jobTemplate.spec.template.spec",
    ("batch", "Job"): "spec.template.spec",
}

# Of other kinds, and of statuses.
OTHER_FIELDS: Mapping[str, Mapping[tuple[str, str], tuple[str, ...]]] = {
    "DeploymentReplicaSetTerminatingReplicas": {
        ("apps", "Deployment"): ("status.terminatingReplicas",),
        ("apps", "ReplicaSet"): ("status.terminatingReplicas",),
    },
    "MaxUnavailableStatefulSet": {("apps", "StatefulSet"): ("spec.updateStrategy.rollingUpdate.maxUnavailable",)},
    "ResourceHealthStatus": {
        ("", "Pod"): tuple(f"status.{container}.allocatedResourcesStatus" for container in _STATUSES)
    },
    "VolumeLimitScaling": {("storage.k8s.io", "CSIDriver"): ("spec.preventPodSchedulingIfMissing",)},
}

# Not served while the gate is off, by group and plural.
RESOURCES: Mapping[str, tuple[tuple[str, str], ...]] = {
    "ClusterTrustBundle": (("certificates.k8s.io", "clustertrustbundles"),),
    "PodCertificateRequest": (("certificates.k8s.io", "podcertificaterequests"),),
    "StorageVersionMigrator": (("storagemigration.k8s.io", "storageversionmigrations"),),
}

# Consulted where they matter.
CONSULTED = frozenset(("AllowUnsafeMalformedObjectDeletion", "KMSv1"))

SWITCHES = CONSULTED | POD_FIELDS.keys() | OTHER_FIELDS.keys() | RESOURCES.keys()


def gated_fields(group: str, kind: str) -> list[tuple[str, str]]:
    """The gates of a kind's fields, each with the path of a field."""
    pod = POD_SPECS.get((group, kind))
    found = [(gate, f"{pod}.{path}") for gate, paths in POD_FIELDS.items() for path in paths] if pod else []
    for gate, kinds in OTHER_FIELDS.items():
        found += [(gate, path) for path in kinds.get((group, kind), ())]
    return found
