"""Where a persistent volume's data is: the kinds of sources, and what each must say."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from kapi.api.fields import FieldError, forbidden, invalid, not_supported, required
from kapi.api.formats import inclusive_range, validate_no_backsteps
from kapi.api.names import dns_label, dns_subdomain
from kapi.api.objects import Object
from kapi.resources.podspec.volume_sources import validate_driver_name

_HOST_PATH_TYPES = (
    "",
    "BlockDevice",
    "CharDevice",
    "Directory",
    "DirectoryOrCreate",
    "File",
    "FileOrCreate",
    "Socket",
)
_ISCSI_NAMES = {
    "iqn": re.compile(r"iqn\.\d{4}-\d{2}\.([A-Za-z0-9.-]+)(:[^,;*&$|\s]+)$", re.ASCII).search,
    "eui": re.compile(r"eui.[A-Za-z0-9]{16}\Z").match,
    "naa": re.compile(r"naa.[A-Za-z0-9]{32}\Z").match,
}
_HOST_PORTS = "must be a host:port pair or multiple pairs separated by commas"
_CSI_SECRETS = (
    "controllerPublishSecretRef",
    "controllerExpandSecretRef",
    "nodePublishSecretRef",
    "nodeExpandSecretRef",
)
_MANAGED_DISK = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
_BLOB_DISK = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"


def validate_source(spec: Object, name: str, path: str) -> list[FieldError]:
    """Exactly one source, a good one. `name` is the volume's."""
    errors: list[FieldError] = []
    found = 0
    for kind, check in _SOURCES.items():
        source = spec.get(kind)
        if source is None:
            continue
        # As upstream: a flexVolume is not minded next to another one.
        if found and kind != "flexVolume":
            errors.append(forbidden(f"{path}.{_SHOWN.get(kind, kind)}", "may not specify more than 1 volume type"))
            continue
        found += 1
        at = f"{path}.{'persistentDisk' if kind == 'gcePersistentDisk' else kind}"
        errors += _validate_iscsi(source, name, at) if kind == "iscsi" else check(source, at)
        if kind == "local" and spec.get("nodeAffinity") is None:
            errors.append(required(f"{path}.nodeAffinity", "Local volume requires node affinity"))
    return errors if found else [*errors, required(path, "must specify a volume type")]


def source_of(spec: Object) -> Object:
    return {kind: spec[kind] for kind in _SOURCES if spec.get(kind) is not None}


def _needs(*fields: str) -> Callable[[Object, str], list[FieldError]]:
    def check(source: Object, path: str) -> list[FieldError]:
        return [required(f"{path}.{field}") for field in fields if not source.get(field)]

    return check


def _validate_host_path(source: Object, path: str) -> list[FieldError]:
    errors = _needs("path")(source, path) + validate_no_backsteps(source.get("path", ""), f"{path}.path")
    kind = source.get("type")
    if kind is not None and kind not in _HOST_PATH_TYPES:
        errors.append(not_supported(f"{path}.type", kind, _HOST_PATH_TYPES))
    return errors


def _validate_disk(field: str) -> Callable[[Object, str], list[FieldError]]:
    def check(source: Object, path: str) -> list[FieldError]:
        errors = _needs(field)(source, path)
        partition = source.get("partition", 0)
        if not 0 <= partition <= 255:
            errors.append(invalid(f"{path}.partition", partition, inclusive_range(1, 255)))
        return errors

    return check


def _validate_glusterfs(source: Object, path: str) -> list[FieldError]:
    errors = _needs("endpoints", "path")(source, path)
    namespace = source.get("endpointsNamespace")
    if namespace == "":
        why = "if the endpointnamespace is set, it must be a valid namespace name"
        errors.append(invalid(f"{path}.endpointsNamespace", namespace, why))
    elif namespace is not None:
        errors += [invalid(f"{path}.endpointsNamespace", namespace, e) for e in dns_label(namespace)]
    return errors


def _validate_flocker(source: Object, path: str) -> list[FieldError]:
    name, uid = source.get("datasetName", ""), source.get("datasetUUID", "")
    errors: list[FieldError] = []
    if not name and not uid:
        errors.append(required(path, "one of datasetName and datasetUUID is required"))
    if name and uid:
        errors.append(invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
    if "/" in name:
        errors.append(invalid(f"{path}.datasetName", name, "must not contain '/'"))
    return errors


def _validate_nfs(source: Object, path: str) -> list[FieldError]:
    errors = _needs("server", "path")(source, path)
    if not source.get("path", "").startswith("/"):
        errors.append(invalid(f"{path}.path", source.get("path", ""), "must be an absolute path"))
    return errors


def _validate_quobyte(source: Object, path: str) -> list[FieldError]:
    registry = source.get("registry", "")
    errors: list[FieldError] = []
    if not registry:
        errors.append(required(f"{path}.registry", _HOST_PORTS))
    elif len(source.get("tenant", "")) >= 65:
        errors.append(required(f"{path}.tenant", "must be a UUID and may not exceed a length of 64 characters"))
    else:
        bad = [pair for pair in registry.split(",") if not re.fullmatch(r"(\[[^\]]*\]|[^:\[\]]*):[^:]*", pair)]
        errors += [invalid(f"{path}.registry", registry, _HOST_PORTS) for _ in bad]
    return errors + _needs("volume")(source, path)


def _validate_iscsi(source: Object, volume: str, path: str) -> list[FieldError]:
    portal, initiator = source.get("targetPortal", ""), source.get("initiatorName")
    errors = _needs("targetPortal")(source, path)
    if initiator is not None and len(f"{volume}:{portal}".encode()) > 64:
        why = (
            "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
            "if iscsi.initiatorName is specified."
        )
        errors.append(invalid(f"{path}.targetportal", portal, why))
    target = source.get("iqn", "")
    errors += _validate_iscsi_name(target, f"{path}.iqn") if target else [required(f"{path}.iqn")]
    if not 0 <= source.get("lun", 0) <= 255:
        errors.append(invalid(f"{path}.lun", source["lun"], inclusive_range(0, 255)))
    secret = source.get("secretRef")
    if secret is None and (source.get("chapAuthDiscovery") or source.get("chapAuthSession")):
        errors.append(required(f"{path}.secretRef"))
    if secret is not None and not secret.get("name"):
        errors.append(required(f"{path}.secretRef.name"))
    return errors + (_validate_iscsi_name(initiator, f"{path}.initiatorname") if initiator is not None else [])


def _validate_iscsi_name(name: str, path: str) -> list[FieldError]:
    matches = _ISCSI_NAMES.get(name[:3])
    return [] if matches is not None and matches(name) else [invalid(path, name, "must be valid format")]


def _validate_cinder(source: Object, path: str) -> list[FieldError]:
    return _needs("volumeID")(source, path) + _validate_secret_presence(source.get("secretRef"), f"{path}.secretRef")


def _validate_secret_presence(secret: Object | None, path: str) -> list[FieldError]:
    return [] if secret is None else _needs("name", "namespace")(secret, path)


def validate_secret_reference(secret: Object, path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for field, check in (("name", dns_subdomain), ("namespace", dns_label)):
        value, at = secret.get(field, ""), f"{path}.{field}"
        errors += [invalid(at, value, e) for e in check(value)] if value else [required(at)]
    return errors


def _validate_fc(source: Object, path: str) -> list[FieldError]:
    names, ids, lun = source.get("targetWWNs") or [], source.get("wwids") or [], source.get("lun")
    errors: list[FieldError] = []
    if not names and not ids:
        errors.append(required(f"{path}.targetWWNs", "must specify either targetWWNs or wwids, but not both"))
    if names and ids:
        why = "targetWWNs and wwids can not be specified simultaneously"
        errors.append(invalid(f"{path}.targetWWNs", names, why))
    if names and lun is None:
        errors.append(required(f"{path}.lun", "lun is required if targetWWNs is specified"))
    elif names and lun is not None and not 0 <= lun <= 255:
        errors.append(invalid(f"{path}.lun", lun, inclusive_range(0, 255)))
    return errors


def _validate_flex(source: Object, path: str) -> list[FieldError]:
    errors = _needs("driver")(source, path)
    for key in source.get("options") or {}:
        namespace = "." + key.partition("/")[0].lower()
        if namespace.endswith((".kubernetes.io", ".k8s.io")):
            why = "kubernetes.io and k8s.io namespaces are reserved"
            errors.append(invalid(f"{path}.options[{key}]", key, why))
    return errors


def _validate_azure_file(source: Object, path: str) -> list[FieldError]:
    errors = _needs("secretName", "shareName")(source, path)
    return [*errors, required(f"{path}.secretNamespace")] if source.get("secretNamespace") == "" else errors


def _validate_azure_disk(source: Object, path: str) -> list[FieldError]:
    errors = _needs("diskName", "diskURI")(source, path)
    caching, kind, uri = source.get("cachingMode"), source.get("kind"), source.get("diskURI", "")
    if caching is not None and caching not in ("None", "ReadOnly", "ReadWrite"):
        errors.append(not_supported(f"{path}.cachingMode", caching, ("None", "ReadOnly", "ReadWrite")))
    if kind is not None and kind not in ("Shared", "Dedicated", "Managed"):
        errors.append(not_supported(f"{path}.kind", kind, ("Shared", "Dedicated", "Managed")))
    if kind == "Managed" and not uri.startswith("/subscriptions/"):
        errors.append(not_supported(f"{path}.diskURI", uri, (_MANAGED_DISK,)))
    if kind is not None and kind != "Managed" and not uri.startswith("https://"):
        errors.append(not_supported(f"{path}.diskURI", uri, (_BLOB_DISK,)))
    return errors


def _validate_local(source: Object, path: str) -> list[FieldError]:
    return _needs("path")(source, path) + validate_no_backsteps(source.get("path", ""), f"{path}.path")


def _validate_storageos(source: Object, path: str) -> list[FieldError]:
    errors = _needs("volumeName")(source, path)
    for field in ("volumeName", "volumeNamespace"):
        if source.get(field):
            errors += [invalid(f"{path}.{field}", source[field], e) for e in dns_label(source[field])]
    return errors + _validate_secret_presence(source.get("secretRef"), f"{path}.secretRef")


def _validate_csi(source: Object, path: str) -> list[FieldError]:
    errors = validate_driver_name(source.get("driver", ""), f"{path}.driver")
    errors += _needs("volumeHandle")(source, path)
    for field in _CSI_SECRETS:
        if source.get(field) is not None:
            errors += validate_secret_reference(source[field], f"{path}.{field}")
    return errors


_SHOWN = {"cephfs": "cephFS"}
_SOURCES: Mapping[str, Callable[[Object, str], list[FieldError]]] = {
    "hostPath": _validate_host_path,
    "gcePersistentDisk": _validate_disk("pdName"),
    "awsElasticBlockStore": _validate_disk("volumeID"),
    "glusterfs": _validate_glusterfs,
    "flocker": _validate_flocker,
    "nfs": _validate_nfs,
    "rbd": _needs("monitors", "image"),
    "quobyte": _validate_quobyte,
    "cephfs": _needs("monitors"),
    "iscsi": _needs("targetPortal", "iqn"),
    "cinder": _validate_cinder,
    "fc": _validate_fc,
    "flexVolume": _validate_flex,
    "azureFile": _validate_azure_file,
    "vsphereVolume": _needs("volumePath"),
    "photonPersistentDisk": _needs("pdID"),
    "portworxVolume": _needs("volumeID"),
    "azureDisk": _validate_azure_disk,
    "scaleIO": _needs("gateway", "system", "volumeName"),
    "local": _validate_local,
    "storageos": _validate_storageos,
    "csi": _validate_csi,
}
