"""pods/resize: cpu and memory of containers, and of the pod, while they run."""

from __future__ import annotations

import copy

from kapi.api.call import Call
from kapi.api.fields import FieldError, forbidden, invalid
from kapi.api.objects import Object
from kapi.registry.strategy import bump_generation, copy_field
from kapi.resources.core.pod_validation import validate_pod
from kapi.resources.podspec.annotations import MIRROR
from kapi.resources.podspec.disabled import drop_disabled_fields
from kapi.resources.podspec.resources import default_pod_resources, quality_of_service

_KEPT_METADATA = ("labels", "annotations", "finalizers", "ownerReferences")
_ONLY = "only cpu and memory resources are mutable"
_RESIZABLE = ("cpu", "memory")


def keep_metadata(new: Object, old: Object) -> None:
    """What a subresource does not own."""
    for field in _KEPT_METADATA:
        copy_field(new["metadata"], old["metadata"], field)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    spec, former = new["spec"], old["spec"]
    kinds = ("containers", "initContainers")
    if all(len(spec.get(kind) or ()) == len(former.get(kind) or ()) for kind in kinds):
        kept = dict(former)
        copy_field(kept, spec, "resources")
        for kind in kinds:
            if kind in former:
                kept[kind] = _with_resources(spec[kind], former[kind])
        new["spec"] = spec = kept
        copy_field(new, old, "status")
        keep_metadata(new, old)
    if spec.get("resources") is None and former.get("resources") is not None:
        spec["resources"] = copy.deepcopy(former["resources"])
    default_pod_resources(spec)
    drop_disabled_fields(spec, new["metadata"], former)
    bump_generation(new, old)


def _with_resources(new: list[Object], old: list[Object]) -> list[Object]:
    """The old containers with the new ones' resources; renamed ones are left for validation to refuse."""
    if [c.get("name") for c in new] != [c.get("name") for c in old]:
        return new
    merged = []
    for container, was in zip(new, old, strict=True):
        changed = dict(was)
        for field in ("resources", "resizePolicy"):
            copy_field(changed, container, field)
        merged.append(changed)
    return merged


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    if MIRROR in (old["metadata"].get("annotations") or {}):
        return [forbidden("[]", "static pods cannot be resized")]
    if (old["spec"].get("os") or {}).get("name") == "windows":
        return [forbidden("[]", "windows pods cannot be resized")]
    errors = validate_pod(call, new, old["spec"])
    was = old["status"].get("qosClass") or quality_of_service(old["spec"])
    if quality_of_service(new["spec"]) != was:
        shown = new["status"].get("qosClass", "")
        errors.append(invalid("spec", shown, "Pod QOS Class may not change as a result of resizing"))
    if not _is_supported(old):
        errors.append(forbidden("spec", "Pod running on node without support for resize"))
    errors += _validate_pod_level(new["spec"].get("resources"), old["spec"].get("resources"))
    order = _validate_order(new["spec"], old["spec"])
    if order:
        return errors + order
    errors += _validate_containers(new["spec"], old["spec"])
    if not errors and _says_nothing(new["spec"].get("resources")) and "resources" not in old["spec"]:
        errors.append(forbidden("spec", _ONLY))
    return errors


def _says_nothing(resources: Object | None) -> bool:
    return resources is not None and not (resources.get("requests") or resources.get("limits"))


def _is_supported(pod: Object) -> bool:
    """A kubelet that can resize reports the resources of what runs."""
    for status in pod["status"].get("containerStatuses") or ():
        if (status.get("state") or {}).get("running") is not None:
            return status.get("resources") is not None
    return True


def _validate_pod_level(new: Object | None, old: Object | None) -> list[FieldError]:
    if not any(resources and (resources.get("requests") or resources.get("limits")) for resources in (new, old)):
        return []
    if new is None:
        return [forbidden("spec.resources", "pod-level resources cannot be removed")] if old is not None else []
    errors = [
        forbidden(f"spec.resources.{kind}", f"pod-level resource {kind} cannot be removed")
        for kind in ("requests", "limits")
        if _removed(new, old or {}, kind)
    ]
    if _without_resizable(new) != _without_resizable(old or {}):
        errors.append(forbidden("spec", "only cpu and memory resources are mutable at pod-level"))
    return errors


def _removed(new: Object, old: Object, kind: str) -> bool:
    return bool(set(old.get(kind) or ()) - set(new.get(kind) or ()))


def _without_resizable(requirements: Object) -> Object:
    kept = {k: v for k, v in requirements.items() if k not in ("requests", "limits")}
    for kind in ("requests", "limits"):
        amounts = {name: v for name, v in (requirements.get(kind) or {}).items() if name not in _RESIZABLE}
        if amounts:
            kept[kind] = amounts
    return kept


def _validate_order(new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("containers", "initContainers"):
        wanted, had = new.get(kind) or [], old.get(kind) or []
        if len(wanted) != len(had):
            errors.append(forbidden(f"spec.{kind}", f"{kind} may not be added or removed on resize"))
            continue
        errors += [
            forbidden(f"spec.{kind}[{i}].name", f"{kind} may not be renamed or reordered on resize")
            for i, (container, was) in enumerate(zip(wanted, had, strict=True))
            if container.get("name") != was.get("name")
        ]
    return errors


def _validate_containers(new: Object, old: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    for kind in ("initContainers", "containers"):
        for i, (container, was) in enumerate(zip(new.get(kind) or (), old.get(kind) or (), strict=True)):
            errors += [
                forbidden(f"spec.{kind}[{i}].resources.{field}", f"resource {field} cannot be removed")
                for field in ("requests", "limits")
                if _removed(container.get("resources") or {}, was.get("resources") or {}, field)
            ]
    for container, was in zip(new.get("containers") or (), old.get("containers") or (), strict=True):
        if not _differs_in_resizable_only(container, was):
            errors.append(forbidden("spec", _ONLY))
    for i, (container, was) in enumerate(
        zip(new.get("initContainers") or (), old.get("initContainers") or (), strict=True)
    ):
        path = f"spec.initContainers[{i}]"
        if not _differs_in_resizable_only(container, was):
            detail = "only cpu and memory resources for init or sidecar containers are mutable"
            errors.append(forbidden(path, detail))
        if container != was and container.get("restartPolicy") != "Always":
            detail = "non-sidecar init containers with a resize policy of RestartContainer cannot be resized"
            policies = container.get("resizePolicy") or ()
            errors += [forbidden(path, detail) for p in policies if p.get("restartPolicy") == "RestartContainer"]
    return errors


def _differs_in_resizable_only(new: Object, old: Object) -> bool:
    def rest(container: Object) -> Object:
        return {**container, "resources": _without_resizable(container.get("resources") or {})}

    return new == old or rest(new) == rest(old)
