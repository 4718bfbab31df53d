"""Fields of features that are off: dropped when they are set, kept where an object has had them before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kapi.api.objects import Object
from kapi.resources.podspec.context import API_ACCESS

_PROBES = ("livenessProbe", "readinessProbe", "startupProbe")
_USERS = ("user", "defaultUser")
_INIT_ANNOTATIONS = (
    "pod.alpha.kubernetes.io/init-containers",
    "pod.alpha.kubernetes.io/init-container-statuses",
    "pod.beta.kubernetes.io/init-containers",
    "pod.beta.kubernetes.io/init-container-statuses",
)


def drop_disabled_template_fields(template: Object, old: Object | None = None) -> None:
    drop_disabled_fields(template.get("spec") or {}, template.get("metadata") or {}, (old or {}).get("spec"))


def drop_disabled_fields(spec: Object, metadata: Object, old: Object | None = None) -> None:
    """Alpha features, and the annotations that init containers once were."""
    annotations = metadata.get("annotations")
    if annotations:
        for key in _INIT_ANNOTATIONS:
            annotations.pop(key, None)
        if not annotations:
            del metadata["annotations"]
    former = set(_features(old)) if old else set()
    for feature, holder, field in list(_uses(spec)):
        if feature not in former:
            holder.pop(field, None)


def _features(spec: Object) -> Iterator[str]:
    for feature, _, __ in _uses(spec):
        yield feature


def _uses(spec: Object) -> Iterator[tuple[str, dict[str, Any], str]]:
    """Every field of a feature that is off: the feature, what holds the field, and the field."""
    for field in ("schedulingGroup", "evictionResponders"):
        if field in spec:
            yield field, spec, field
    for volume in spec.get("volumes") or ():
        yield from _volume_uses(volume)
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for container in spec.get(kind) or ():
            yield from _container_uses(container)


def _volume_uses(volume: Object) -> Iterator[tuple[str, dict[str, Any], str]]:
    empty = volume.get("emptyDir")
    if empty and "mode" in empty:
        yield "emptyDirMode", empty, "mode"
    for kind in ("secret", "configMap", "downwardAPI", "projected"):
        source = volume.get(kind)
        if source and source != API_ACCESS:
            for holder in _files(source):
                for field in _USERS:
                    if field in holder:
                        yield "volumeUsers", holder, field


def _files(source: Object) -> Iterator[Object]:
    yield source
    yield from source.get("items") or ()
    for projection in source.get("sources") or ():
        for inner in projection.values():
            if inner:
                yield from _files(inner)


def _container_uses(container: Object) -> Iterator[tuple[str, dict[str, Any], str]]:
    for mount in container.get("volumeMounts") or ():
        if "bindMountOptions" in mount:
            yield "bindMountOptions", mount, "bindMountOptions"
    handlers = [container[name] for name in _PROBES if container.get(name)]
    for probe in handlers:
        if "mode" in (probe.get("grpc") or ()):
            yield "grpcMode", probe["grpc"], "mode"
    lifecycle = container.get("lifecycle")
    if lifecycle:
        if "stopSignal" in lifecycle:  # a lifecycle that says no more goes with it
            yield ("stopSignal", *((lifecycle, "stopSignal") if len(lifecycle) > 1 else (container, "lifecycle")))
        handlers += [lifecycle[name] for name in ("postStart", "preStop") if lifecycle.get(name)]
    for handler in handlers:
        if "protocol" in (handler.get("httpGet") or ()):
            yield "httpProtocol", handler["httpGet"], "protocol"
