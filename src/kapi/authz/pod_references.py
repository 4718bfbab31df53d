"""What a pod refers to: the objects that the node it runs on must be able to read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from kapi.api.objects import Object

Reference: TypeAlias = tuple[str, str, str]  # resource, namespace, name
_MIRROR = "kubernetes.io/config.mirror"
# Volume sources, and where in each the name of a secret is.
_SECRET_FIELDS = (
    ("secret", "secretName"),
    ("azureFile", "secretName"),
    ("cephfs", "secretRef"),
    ("flexVolume", "secretRef"),
    ("rbd", "secretRef"),
    ("scaleIO", "secretRef"),
    ("iscsi", "secretRef"),
    ("storageos", "secretRef"),
    ("csi", "nodePublishSecretRef"),
)
_CONTAINERS = ("initContainers", "containers", "ephemeralContainers")


def references(pod: Object) -> frozenset[Reference]:
    """The pod itself included. A mirror pod refers to nothing: nodes create those, and could grant themselves more."""
    metadata, spec = pod["metadata"], pod.get("spec") or {}
    namespace = metadata["namespace"]
    itself = ("pods", namespace, metadata["name"])
    if _MIRROR in (metadata.get("annotations") or {}):
        return frozenset((itself,))
    found = {(resource, namespace, name) for resource, name in _named(pod, spec) if name}
    return frozenset({itself, *found})


def _named(pod: Object, spec: Object) -> Iterator[tuple[str, str]]:
    yield "serviceaccounts", spec.get("serviceAccountName", "")
    for secret in spec.get("imagePullSecrets") or ():
        yield "secrets", secret.get("name", "")
    for kind in _CONTAINERS:
        for container in spec.get(kind) or ():
            yield from _of_container(container)
    for volume in spec.get("volumes") or ():
        yield from _of_volume(pod["metadata"]["name"], volume)
    yield from _claims(pod, spec)


def _of_container(container: Object) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or ():
        yield "configmaps", (source.get("configMapRef") or {}).get("name", "")
        yield "secrets", (source.get("secretRef") or {}).get("name", "")
    for variable in container.get("env") or ():
        source = variable.get("valueFrom") or {}
        yield "configmaps", (source.get("configMapKeyRef") or {}).get("name", "")
        yield "secrets", (source.get("secretKeyRef") or {}).get("name", "")


def _of_volume(pod: str, volume: Object) -> Iterator[tuple[str, str]]:
    for secret in volume_secrets(volume):
        yield "secrets", secret
    yield "configmaps", (volume.get("configMap") or {}).get("name", "")
    for source in (volume.get("projected") or {}).get("sources") or ():
        yield "configmaps", (source.get("configMap") or {}).get("name", "")
        yield "secrets", (source.get("secret") or {}).get("name", "")
    yield "persistentvolumeclaims", (volume.get("persistentVolumeClaim") or {}).get("claimName", "")
    if "ephemeral" in volume:
        yield "persistentvolumeclaims", f"{pod}-{volume.get('name', '')}"


def volume_secrets(volume: Object) -> Iterator[str]:
    """The secrets that a volume source (of a pod or a persistent volume) names."""
    for source, field in _SECRET_FIELDS:
        value = (volume.get(source) or {}).get(field)
        yield (value.get("name", "") if isinstance(value, dict) else value) or ""


def _claims(pod: Object, spec: Object) -> Iterator[tuple[str, str]]:
    status = pod.get("status") or {}
    for claim in spec.get("resourceClaims") or ():
        yield "resourceclaims", claim.get("resourceClaimName", "")
    for claim in status.get("resourceClaimStatuses") or ():
        yield "resourceclaims", claim.get("resourceClaimName", "")
    yield "resourceclaims", (status.get("extendedResourceClaimStatus") or {}).get("resourceClaimName", "")
