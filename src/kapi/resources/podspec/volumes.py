"""Volumes: exactly one source each. The sources are a table, in the order in which upstream looks at them."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from kapi.api.fields import FieldError, duplicate, forbidden, invalid, required
from kapi.api.names import dns_label, dns_subdomain
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.resources.podspec import volume_sources as sources
from kapi.resources.podspec.claims import validate_claim_template
from kapi.resources.podspec.containers import validate_pull_policy
from kapi.resources.podspec.context import Context
from kapi.resources.podspec.projected import (
    validate_config_map,
    validate_downward_api,
    validate_projected,
    validate_secret,
)

_ONE_TYPE = "may not specify more than 1 volume type"
_PORTAL_LENGTH = 64
Check: TypeAlias = Callable[[Object, str], list[FieldError]]


def validate_volumes(volumes: list[Object], context: Context, path: str) -> list[FieldError]:
    """Those that are valid can then be mounted: they are put into the context."""
    errors: list[FieldError] = []
    created = {
        f"{context.pod_name}-{v.get('name', '')}"
        for v in volumes
        if context.pod_name and v.get("ephemeral") is not None
    }
    for i, volume in enumerate(volumes):
        name, at = volume.get("name") or "", f"{path}[{i}]"
        found = _validate_source(volume, name, context, at)
        if not name:
            found.append(required(f"{at}.name"))
        else:
            found += [invalid(f"{at}.name", name, e) for e in dns_label(name)]
        if name in context.volumes:
            found.append(duplicate(f"{at}.name", name))
        if found:
            errors += found
        else:
            context.volumes[name] = volume
        claim = (volume.get("persistentVolumeClaim") or {}).get("claimName")
        if claim in created:
            detail = "must not reference a PVC that gets created for an ephemeral volume"
            errors.append(invalid(f"{at}.persistentVolumeClaim.claimName", claim, detail))
    return errors


def _validate_source(volume: Object, name: str, context: Context, path: str) -> list[FieldError]:
    kinds = [kind for kind in volume if kind != "name" and volume[kind] is not None]
    if len(kinds) > 1:
        kinds = [kind for kind in _CHECKS if kind in kinds]
    if not kinds or kinds[0] not in _CHECKS:
        return [required(path, "must specify a volume type")]
    kind = kinds[0]
    errors = _CHECKS[kind](volume[kind], f"{path}.{_ODD_PATHS.get(kind, kind)}")
    if kind == "ephemeral" and context.pod_name and name:
        claim = f"{context.pod_name}-{name}"
        errors += [invalid(f"{path}.name", name, f'PVC name "{claim}": {e}') for e in dns_subdomain(claim)]
    for other in kinds[1:]:
        errors.append(forbidden(f"{path}.{_ODD_SPELLINGS.get(other, other)}", _ONE_TYPE))
    if "iscsi" in kinds:
        errors += _validate_portal(volume["iscsi"], name, path)
    return errors


def _validate_portal(iscsi: Object, name: str, path: str) -> list[FieldError]:
    if iscsi.get("initiatorName") is None or len(f"{name}:{iscsi.get('targetPortal') or ''}") <= _PORTAL_LENGTH:
        return []
    detail = (
        "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters "
        "if iscsi.initiatorName is specified."
    )
    return [invalid(f"{path}.name", name, detail)]


def _validate_empty_dir(source: Object, path: str) -> list[FieldError]:
    limit = source.get("sizeLimit")
    if limit is not None and Quantity.parse(limit).sign < 0:
        return [forbidden(f"{path}.sizeLimit", "SizeLimit field must be a valid resource quantity")]
    return []


def _validate_image(source: Object, path: str) -> list[FieldError]:
    errors = [] if source.get("reference") else [required(f"{path}.reference")]
    return errors + validate_pull_policy(source.get("pullPolicy"), f"{path}.pullPolicy")


def _validate_ephemeral(source: Object, path: str) -> list[FieldError]:
    template = source.get("volumeClaimTemplate")
    if template is None:
        return [required(f"{path}.volumeClaimTemplate")]
    return validate_claim_template(template, f"{path}.volumeClaimTemplate")


_CHECKS: dict[str, Check] = {
    "emptyDir": _validate_empty_dir,
    "hostPath": sources.validate_host_path,
    "gitRepo": sources.validate_git_repo,
    "gcePersistentDisk": sources.validate_gce_disk,
    "awsElasticBlockStore": sources.validate_aws_disk,
    "secret": validate_secret,
    "nfs": sources.validate_nfs,
    "iscsi": sources.validate_iscsi,
    "glusterfs": sources.validate_glusterfs,
    "flocker": sources.validate_flocker,
    "persistentVolumeClaim": sources.validate_claim,
    "rbd": sources.validate_rbd,
    "cinder": sources.validate_cinder,
    "cephfs": sources.validate_cephfs,
    "quobyte": sources.validate_quobyte,
    "downwardAPI": validate_downward_api,
    "fc": sources.validate_fc,
    "flexVolume": sources.validate_flex_volume,
    "configMap": validate_config_map,
    "azureFile": sources.validate_azure_file,
    "vsphereVolume": sources.validate_vsphere,
    "photonPersistentDisk": sources.validate_photon_disk,
    "portworxVolume": sources.validate_portworx,
    "azureDisk": sources.validate_azure_disk,
    "storageos": sources.validate_storageos,
    "projected": validate_projected,
    "scaleIO": sources.validate_scale_io,
    "csi": sources.validate_csi,
    "ephemeral": _validate_ephemeral,
    "image": _validate_image,
}
# Upstream's own slips, which its clients see.
_ODD_PATHS = {"gcePersistentDisk": "persistentDisk"}
_ODD_SPELLINGS = {"cephfs": "cephFS", "downwardAPI": "downwarAPI"}
