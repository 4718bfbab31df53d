"""Volume mounts and volume devices: where a container finds its volumes."""

from __future__ import annotations

from kapi.api.fields import FieldError, forbidden, invalid, not_found, not_supported, required
from kapi.api.formats import validate_descending_path
from kapi.api.objects import Object
from kapi.resources.podspec.context import Context

_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")


def validate_mounts(container: Object, context: Context, path: str) -> list[FieldError]:
    mounts, devices = container.get("volumeMounts"), container.get("volumeDevices")
    errors: list[FieldError] = []
    if mounts:
        device_paths = {d.get("name", ""): d.get("devicePath", "") for d in devices or ()}
        seen: set[str] = set()
        for i, mount in enumerate(mounts):
            errors += _validate_mount(mount, context, seen, device_paths, f"{path}.volumeMounts[{i}]")
            errors += _validate_mount_options(mount, container, f"{path}.volumeMounts", i)
    if devices:
        mount_paths = {m.get("name", ""): m.get("mountPath", "") for m in mounts or ()}
        errors += _validate_devices(devices, context, mount_paths, f"{path}.volumeDevices")
    return errors


def _validate_mount(
    mount: Object, context: Context, seen: set[str], devices: dict[str, str], path: str
) -> list[FieldError]:
    errors: list[FieldError] = []
    name, target = mount.get("name") or "", mount.get("mountPath") or ""
    if not name:
        errors.append(required(f"{path}.name"))
    if name not in context.volumes:
        errors.append(not_found(f"{path}.name", name))
    if not target:
        errors.append(required(f"{path}.mountPath"))
    if target in seen:
        errors.append(invalid(f"{path}.mountPath", target, "must be unique"))
    seen.add(target)
    if devices:
        if name in devices:
            errors.append(invalid(f"{path}.name", name, "must not already exist in volumeDevices"))
        if target in devices.values():
            errors.append(invalid(f"{path}.mountPath", target, "must not already exist as a path in volumeDevices"))
    return errors


def _validate_mount_options(mount: Object, container: Object, path: str, i: int) -> list[FieldError]:
    """Upstream names these fields without the index of their mount."""
    errors: list[FieldError] = []
    sub_path, expression = mount.get("subPath"), mount.get("subPathExpr")
    if sub_path:
        errors += validate_descending_path(sub_path, f"{path}.subPath")
    if expression:
        if sub_path:
            detail = "subPathExpr and subPath are mutually exclusive"
            errors.append(invalid(f"{path}[{i}].subPathExpr", expression, detail))
        errors += validate_descending_path(expression, f"{path}.subPathExpr")
    propagation = mount.get("mountPropagation")
    if propagation is not None:
        errors += _validate_propagation(propagation, container, f"{path}.mountPropagation")
    recursive = mount.get("recursiveReadOnly")
    if recursive is not None:
        errors += _validate_recursive(recursive, mount, f"{path}.recursiveReadOnly")
    return errors


def _validate_propagation(propagation: str, container: Object, path: str) -> list[FieldError]:
    if propagation not in _PROPAGATIONS:
        return [not_supported(path, propagation, _PROPAGATIONS)]
    if propagation == "Bidirectional" and not (container.get("securityContext") or {}).get("privileged"):
        return [forbidden(path, "Bidirectional mount propagation is available only to privileged containers")]
    return []


def _validate_recursive(recursive: str, mount: Object, path: str) -> list[FieldError]:
    if recursive not in _RECURSIVE:
        return [not_supported(path, recursive, _RECURSIVE)]
    errors: list[FieldError] = []
    if recursive != "Disabled":
        if not mount.get("readOnly"):
            errors.append(forbidden(path, "may only be specified when readOnly is true"))
        if mount.get("mountPropagation", "None") != "None":
            errors.append(forbidden(path, "may only be specified when mountPropagation is None or not specified"))
    return errors


def _validate_devices(devices: list[Object], context: Context, mounts: dict[str, str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    names: set[str] = set()
    paths: set[str] = set()
    for i, device in enumerate(devices):
        errors += _validate_device(device, context, names, paths, f"{path}[{i}]")
        name, target = device.get("name") or "", device.get("devicePath") or ""
        if name in mounts:
            errors.append(invalid(f"{path}[{i}].name", name, "must not already exist in volumeMounts"))
        if target in mounts.values():
            detail = "must not already exist as a path in volumeMounts"
            errors.append(invalid(f"{path}[{i}].devicePath", target, detail))
        if name:
            names.add(name)
    return errors


def _validate_device(device: Object, context: Context, names: set[str], paths: set[str], at: str) -> list[FieldError]:
    errors: list[FieldError] = []
    name, target = device.get("name") or "", device.get("devicePath") or ""
    volume = context.volumes.get(name)
    if not name:
        errors.append(required(f"{at}.name"))
    if name in names:
        errors.append(invalid(f"{at}.name", name, "must be unique"))
    if volume is None:
        errors.append(not_found(f"{at}.name", name))
    elif volume.get("persistentVolumeClaim") is None and volume.get("ephemeral") is None:
        detail = "can only use volume source type of PersistentVolumeClaim or Ephemeral for block mode"
        errors.append(invalid(f"{at}.name", name, detail))
    if not target:
        errors.append(required(f"{at}.devicePath"))
    if target in paths:
        errors.append(invalid(f"{at}.devicePath", target, "must be unique"))
    if ".." in target.split("/"):
        errors.append(invalid(f"{at}.devicePath", target, "can not contain backsteps ('..')"))
    else:
        paths.add(target)
    return errors
