"""What each plain volume source must say. Persistent volumes know most of them as well."""

from __future__ import annotations

import re

from kapi.api.fields import FieldError, invalid, not_supported, required, too_long
from kapi.api.formats import inclusive_range, validate_descending_path, validate_no_backsteps
from kapi.api.names import dns_label, dns_subdomain
from kapi.api.objects import Object

HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_CACHING_MODES = ("None", "ReadOnly", "ReadWrite")
_DISK_KINDS = ("Dedicated", "Managed", "Shared")
_MANAGED_DISKS = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISKS = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
_INITIATORS = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([a-zA-Z0-9\-.]+)(:[^,;*&$|\s]+)\Z", re.ASCII).search,
    "eui": re.compile(r"eui.[a-zA-Z0-9]{16}\Z").match,
    "naa": re.compile(r"naa.[a-zA-Z0-9]{32}\Z").match,
}


def demand(source: Object, path: str, *fields: str) -> list[FieldError]:
    """Fields that may not be empty."""
    return [required(f"{path}.{field}") for field in fields if not source.get(field)]


def validate_host_path(source: Object, path: str) -> list[FieldError]:
    target = source.get("path")
    if not target:
        return [required(f"{path}.path")]
    errors = validate_no_backsteps(target, f"{path}.path")
    kind = source.get("type")
    if kind is not None and kind not in HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", kind, HOST_PATH_TYPES))
    return errors


def validate_git_repo(source: Object, path: str) -> list[FieldError]:
    errors = demand(source, path, "repository")
    return errors + validate_descending_path(source.get("directory") or "", f"{path}.directory")


def _validate_partition(source: Object, path: str) -> list[FieldError]:
    partition = source.get("partition") or 0
    if 0 <= partition <= 255:
        return []
    return [invalid(f"{path}.partition", partition, inclusive_range(1, 255))]


def validate_gce_disk(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "pdName") + _validate_partition(source, path)


def validate_aws_disk(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "volumeID") + _validate_partition(source, path)


def validate_nfs(source: Object, path: str) -> list[FieldError]:
    errors = demand(source, path, "server", "path")
    target = source.get("path") or ""
    if not target.startswith("/"):
        errors.append(invalid(f"{path}.path", target, "must be an absolute path"))
    return errors


def validate_iscsi(source: Object, path: str) -> list[FieldError]:
    errors = demand(source, path, "targetPortal", "iqn")
    iqn, lun, initiator = source.get("iqn"), source.get("lun") or 0, source.get("initiatorName")
    if iqn:
        errors += _validate_initiator(iqn, f"{path}.iqn")
    if not 0 <= lun <= 255:
        errors.append(invalid(f"{path}.lun", lun, inclusive_range(0, 255)))
    if (source.get("chapAuthDiscovery") or source.get("chapAuthSession")) and source.get("secretRef") is None:
        errors.append(required(f"{path}.secretRef"))
    if initiator is not None:
        errors += _validate_initiator(initiator, f"{path}.initiatorname")
    return errors


def _validate_initiator(name: str, path: str) -> list[FieldError]:
    matches = _INITIATORS.get(name[:3])
    if matches is None:
        return [invalid(path, name, "must be valid format starting with iqn, eui, or naa")]
    return [] if matches(name) else [invalid(path, name, "must be valid format")]


def validate_glusterfs(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "endpoints", "path")


def validate_flocker(source: Object, path: str) -> list[FieldError]:
    name, uuid = source.get("datasetName") or "", source.get("datasetUUID")
    errors: list[FieldError] = []
    if not name and not uuid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uuid:
        detail = "datasetName and datasetUUID can not be specified simultaneously"
        errors.append(invalid(path, "resource", detail))
    if "/" in name:
        errors.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))
    return errors


def validate_claim(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "claimName")


def validate_rbd(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "monitors", "image")


def validate_cinder(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "volumeID") + _validate_secret_ref(source, path)


def _validate_secret_ref(source: Object, path: str) -> list[FieldError]:
    reference = source.get("secretRef")
    return [] if reference is None or reference.get("name") else [required(f"{path}.secretRef.name")]


def validate_cephfs(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "monitors")


def validate_quobyte(source: Object, path: str) -> list[FieldError]:
    registry, detail = source.get("registry"), "must be a host:port pair or multiple pairs separated by commas"
    errors: list[FieldError] = []
    if not registry:
        errors.append(required(f"{path}.registry", detail))
    elif len(source.get("tenant") or "") >= 65:
        errors.append(required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters"))
    else:
        pairs = registry.split(",")
        errors += [invalid(f"{path}.registry", registry, detail) for pair in pairs if not _is_host_port(pair)]
    return errors + demand(source, path, "volume")


def _is_host_port(pair: str) -> bool:
    host, colon, _ = pair.rpartition(":")
    bracketed = host.startswith("[") and host.endswith("]")
    return bool(colon) and (bracketed or not set(host) & set(":[]"))


def validate_fc(source: Object, path: str) -> list[FieldError]:
    names, ids, lun = source.get("targetWWNs"), source.get("wwids"), source.get("lun")
    errors: list[FieldError] = []
    if not names and not ids:
        detail = "must specify either targetWWNs or wwids, but not both"
        errors.append(required(f"{path}.targetWWNs", detail))
    if names and ids:
        detail = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid(f"{path}.targetWWNs", names, detail))
    if not names:
        return errors
    if lun is None:
        errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif not 0 <= lun <= 255:
        errors.append(invalid(f"{path}.lun", lun, inclusive_range(0, 255)))
    return errors


def validate_flex_volume(source: Object, path: str) -> list[FieldError]:
    errors = demand(source, path, "driver")
    for key in source.get("options") or ():
        namespace = "." + key.partition("/")[0].lower()
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            detail = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(f"{path}.options[{key}]", key, detail))
    return errors


def validate_azure_file(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "secretName", "shareName")


def validate_azure_disk(source: Object, path: str) -> list[FieldError]:
    errors = demand(source, path, "diskName", "diskURI")
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI") or ""
    if caching is not None and caching not in _CACHING_MODES:
        errors.append(not_supported(f"{path}.cachingMode", caching, _CACHING_MODES))
    if kind is None:
        return errors
    if kind not in _DISK_KINDS:
        errors.append(not_supported(f"{path}.kind", kind, _DISK_KINDS))
    prefix, shown = ("/subscriptions/", _MANAGED_DISKS) if kind == "Managed" else ("https://", _BLOB_DISKS)
    if not uri.startswith(prefix):
        errors.append(not_supported(f"{path}.diskURI", uri, (shown,)))
    return errors


def validate_vsphere(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "volumePath")


def validate_photon_disk(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "pdID")


def validate_portworx(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "volumeID")


def validate_scale_io(source: Object, path: str) -> list[FieldError]:
    return demand(source, path, "gateway", "system", "volumeName")


def validate_storageos(source: Object, path: str) -> list[FieldError]:
    errors = demand(source, path, "volumeName")
    for field in ("volumeName", "volumeNamespace"):
        if source.get(field):
            errors += [invalid(f"{path}.{field}", source[field], e) for e in dns_label(source[field])]
    return errors + _validate_secret_ref(source, path)


def validate_csi(source: Object, path: str) -> list[FieldError]:
    errors = validate_driver_name(source.get("driver") or "", f"{path}.driver")
    reference = source.get("nodePublishSecretRef")
    if reference is not None:
        name = reference.get("name")
        if not name:
            errors.append(required(f"{path}.nodePublishSecretRef.name"))
        else:
            errors += [invalid(f"{path}.name", name, e) for e in dns_subdomain(name)]
    return errors


def validate_driver_name(name: str, path: str) -> list[FieldError]:
    """A CSI driver's: a subdomain of 63 characters, in any case."""
    if not name:
        return [required(path)]
    errors = [too_long(path, 63)] if len(name.encode()) > 63 else []
    return errors + [invalid(path, name, e) for e in dns_subdomain(name.lower())]
