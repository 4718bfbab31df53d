"""Mirror pods: what a node shows of the pods that it runs by itself. They refer to nothing in the API."""

from __future__ import annotations

from collections.abc import Iterator

from kapi.api.objects import Object

MIRROR = "kubernetes.io/config.mirror"
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")
_VARIABLES = (
    ("secretKeyRef", "secrets"),
    ("secretRef", "secrets"),
    ("configMapKeyRef", "configmaps"),
    ("configMapRef", "configmaps"),
)
_SECRETS = ("cephfs", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos")
# In the order in which they are named.
_VOLUMES = (
    ("configMap", "configmaps (via configmap volumes)"),
    ("secret", "secrets (via secret volumes)"),
    ("csi", "csidrivers (via CSI volumes)"),
    ("glusterfs", "endpoints (via glusterFS volumes)"),
    ("persistentVolumeClaim", "persistentvolumeclaims"),
    ("ephemeral", "persistentvolumeclaims (via ephemeral volumes)"),
    ("azureFile", "secrets (via azureFile volumes)"),
)
_PROJECTIONS = (
    ("configMap", "configmaps (via projected volumes)"),
    ("secret", "secrets (via projected volumes)"),
    ("serviceAccountToken", "serviceaccounts (via projected volumes)"),
    ("clusterTrustBundle", "clustertrustbundles"),
    ("podCertificate", "podcertificates"),
)


def owner_problem(pod: Object, node: str) -> str | None:
    """A mirror pod is its node's: it goes with it."""
    owners = pod["metadata"].get("ownerReferences") or ()
    who = f'node "{node}"'
    if len(owners) > 1:
        return f"{who} can only create pods with a single owner reference set to itself"
    if not owners or [owners[0].get(field) for field in ("apiVersion", "kind", "name")] != ["v1", "Node", node]:
        return f"{who} can only create pods with an owner reference set to itself"
    if not owners[0].get("controller"):
        return f"{who} can only create pods with a controller owner reference set to itself"
    if owners[0].get("blockOwnerDeletion"):
        return f"{who} must not set blockOwnerDeletion on an owner reference"
    return None


def referenced(spec: Object) -> str | None:
    """What of the API a pod refers to, if anything."""
    if spec.get("serviceAccountName"):
        return "serviceaccounts"
    kinds = set(_named(spec))
    for kind in ("secrets", "configmaps"):
        if kind in kinds:
            return kind
    if spec.get("resourceClaims"):
        return "resourceclaims"
    for volume in spec.get("volumes") or ():
        for source, what in _VOLUMES:
            if volume.get(source) is not None:
                return what
        for projection in (volume.get("projected") or {}).get("sources") or ():
            for source, what in _PROJECTIONS:
                if projection.get(source) is not None:
                    return what
    return None


def _named(spec: Object) -> Iterator[str]:
    if spec.get("imagePullSecrets"):
        yield "secrets"
    for containers in _CONTAINERS:
        for container in spec.get(containers) or ():
            for variable in container.get("env") or ():
                source = variable.get("valueFrom") or {}
                yield from (kind for field, kind in _VARIABLES if field in source)
            for source in container.get("envFrom") or ():
                yield from (kind for field, kind in _VARIABLES if field in source)
    for volume in spec.get("volumes") or ():
        if "secret" in volume or "azureFile" in volume or (volume.get("csi") or {}).get("nodePublishSecretRef"):
            yield "secrets"
        if any((volume.get(source) or {}).get("secretRef") for source in _SECRETS):
            yield "secrets"
        if "configMap" in volume:
            yield "configmaps"
        for projection in (volume.get("projected") or {}).get("sources") or ():
            yield from (k for f, k in (("secret", "secrets"), ("configMap", "configmaps")) if f in projection)
