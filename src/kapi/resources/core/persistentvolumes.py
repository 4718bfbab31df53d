"""PersistentVolumes: storage that outlives pods, and where it is."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.clock import SystemClock, rfc3339
from kapi.api.difference import difference
from kapi.api.fields import FieldError, forbidden, go_struct, invalid
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, copy_field, keep_status
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.core.access_modes import short
from kapi.resources.core.node_labels import deprecation
from kapi.resources.core.volume_sources import source_of
from kapi.resources.core.volume_specs import default_volume_spec, validate_volume_spec

STORAGE_CLASS_ANNOTATION = "volume.beta.kubernetes.io/storage-class"
_MOUNT_OPTIONS = "volume.beta.kubernetes.io/mount-options"
_MOUNTABLE = frozenset(
    (
        "awsElasticBlockStore",
        "azureDisk",
        "azureFile",
        "cephfs",
        "cinder",
        "gcePersistentDisk",
        "glusterfs",
        "iscsi",
        "nfs",
        "photonPersistentDisk",
        "quobyte",
        "rbd",
        "vsphereVolume",
    )
)
_DEPRECATED_ANNOTATIONS = {
    STORAGE_CLASS_ANNOTATION: 'deprecated since v1.8; use "storageClassName" attribute instead',
    _MOUNT_OPTIONS: 'deprecated since v1.31; use "mountOptions" attribute instead',
}
_DEPRECATED_SOURCES = {
    "cephfs": "deprecated in v1.28, non-functional in v1.31+",
    "photonPersistentDisk": "deprecated in v1.11, non-functional in v1.16+",
    "scaleIO": "deprecated in v1.16, non-functional in v1.22+",
    "storageos": "deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "deprecated in v1.25, non-functional in v1.26+",
    "rbd": "deprecated in v1.28, non-functional in v1.31+",
}
_RECYCLE = "The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning."


def default(new: Object) -> None:
    spec, status = new.setdefault("spec", {}), new.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"
    if not spec.get("persistentVolumeReclaimPolicy"):
        spec["persistentVolumeReclaimPolicy"] = "Retain"
    spec.setdefault("volumeMode", "Filesystem")
    default_volume_spec(spec)


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"phase": "Pending", "lastPhaseTransitionTime": new["metadata"]["creationTimestamp"]}


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    """A change of phase is timed, unless whoever changes it says when it was."""
    copy_field(new, old, "spec")
    status, former = new["status"], old.get("status", {})
    told, before = status.get("lastPhaseTransitionTime"), former.get("lastPhaseTransitionTime")
    if status.get("phase") == former.get("phase"):
        if told is None and before is not None:
            status["lastPhaseTransitionTime"] = before
    elif told is None or told == before:
        status["lastPhaseTransitionTime"] = rfc3339(SystemClock.now())


def validate(_: Call, new: Object) -> list[FieldError]:
    spec = new["spec"]
    errors = validate_volume_spec(spec, new["metadata"].get("name", ""), "spec")
    if _MOUNT_OPTIONS in (new["metadata"].get("annotations") or {}) and not _MOUNTABLE & spec.keys():
        why = "may not specify mount options for this volume type"
        errors.append(forbidden(f"metadata.annotations.{_MOUNT_OPTIONS}", why))
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    errors = validate(call, new)
    spec, former = new["spec"], old["spec"]
    source, settled = _settled_source(spec, former), source_of(former)
    if source != settled:
        changes = difference(go_struct(settled), go_struct(source))
        why = f"spec.persistentvolumesource is immutable after creation\n{changes}"
        errors.append(forbidden("spec.persistentvolumesource", why))
    if spec.get("volumeMode") != former.get("volumeMode"):
        errors.append(invalid("volumeMode", spec.get("volumeMode"), "field is immutable"))
    affinity = former.get("nodeAffinity")
    if affinity is not None and not _same_affinity(spec.get("nodeAffinity"), affinity):
        why = "field is immutable, except for updating from beta label to GA"
        errors.append(invalid("nodeAffinity", go_struct(spec.get("nodeAffinity")), why))
    if former.get("volumeAttributesClassName") is not None and spec.get("volumeAttributesClassName") is None:
        errors.append(forbidden("spec.volumeAttributesClassName", "update from non-nil value to nil is forbidden"))
    return errors


def _settled_source(spec: Object, former: Object) -> Object:
    """The source as it may not change: the secret for expansion may be added once."""
    source = source_of(spec)
    added, field = source.get("csi"), "controllerExpandSecretRef"
    if added is not None and former.get("csi") is not None and field not in former["csi"]:
        source["csi"] = {key: value for key, value in added.items() if key != field}
    return source


_CURRENT_LABELS = {
    "beta.kubernetes.io/arch": "kubernetes.io/arch",
    "beta.kubernetes.io/os": "kubernetes.io/os",
    "failure-domain.beta.kubernetes.io/region": "topology.kubernetes.io/region",
    "failure-domain.beta.kubernetes.io/zone": "topology.kubernetes.io/zone",
    "beta.kubernetes.io/instance-type": "node.kubernetes.io/instance-type",
}


def _same_affinity(new: Object | None, old: Object) -> bool:
    """Whether nothing changed but beta labels to those that replaced them."""
    terms, former = _terms(new), _terms(old)
    return len(terms) == len(former) and all(
        _same_requirements(term.get(field) or [], was.get(field) or [])
        for term, was in zip(terms, former, strict=True)
        for field in ("matchExpressions", "matchFields")
    )


def _terms(affinity: Object | None) -> list[Object]:
    return ((affinity or {}).get("required") or {}).get("nodeSelectorTerms") or []


def _same_requirements(new: list[Object], old: list[Object]) -> bool:
    return len(new) == len(old) and all(_same_requirement(*pair) for pair in zip(new, old, strict=True))


def _same_requirement(new: Object, old: Object) -> bool:
    # As upstream: a key without a successor counts as replaced by none.
    key = new.get("key", "")
    if key == _CURRENT_LABELS.get(old.get("key", ""), ""):
        old = {**old, "key": key}
    return {"key": key, **new} == old


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    spec, annotations = new["spec"], new["metadata"].get("annotations") or {}
    found = [f"metadata.annotations[{k}]: {why}" for k, why in _DEPRECATED_ANNOTATIONS.items() if k in annotations]
    if spec.get("persistentVolumeReclaimPolicy") == "Recycle":
        found.append(f"spec.persistentVolumeReclaimPolicy: {_RECYCLE}")
    terms = ((spec.get("nodeAffinity") or {}).get("required") or {}).get("nodeSelectorTerms") or []
    for i, term in enumerate(terms):
        for j, expression in enumerate(term.get("matchExpressions") or []):
            why = deprecation(expression["key"])
            if why:
                at = f"spec.nodeAffinity.required.nodeSelectorTerms[{i}].matchExpressions[{j}].key"
                found.append(f"{at}: {expression['key']} is {why}")
    for kind, why in _DEPRECATED_SOURCES.items():
        if spec.get(kind) is not None:
            found.append(f"spec.{'storageOS' if kind == 'storageos' else kind}: {why}")
    return found


def _phase(decoded: Object) -> str:
    if decoded["metadata"].get("deletionTimestamp"):
        return "Terminating"
    phase: str = decoded.get("status", {}).get("phase", "")
    return phase


def _claim(decoded: Object) -> str:
    claim = decoded["spec"].get("claimRef")
    return f"{claim.get('namespace', '')}/{claim.get('name', '')}" if claim else ""


def _class(decoded: Object) -> str:
    annotated = (decoded["metadata"].get("annotations") or {}).get(STORAGE_CLASS_ANNOTATION)
    name: str = annotated if annotated is not None else decoded["spec"].get("storageClassName", "")
    return name


RESOURCE = Resource(
    group="",
    version="v1",
    kind="PersistentVolume",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=keep_status,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(default=default, prepare_for_update=prepare_for_status_update, reset=excluding("spec"))
        )
    },
    columns=(
        NAME,
        Column("Capacity", field_value("spec", "capacity", "storage", absent="0")),
        Column("Access Modes", lambda volume: short(volume["spec"].get("accessModes"))),
        Column("Reclaim Policy", field_value("spec", "persistentVolumeReclaimPolicy")),
        Column("Status", _phase),
        Column("Claim", _claim),
        Column("StorageClass", _class),
        Column("VolumeAttributesClass", field_value("spec", "volumeAttributesClassName", absent="<unset>")),
        Column("Reason", field_value("status", "reason")),
        AGE,
        Column("VolumeMode", field_value("spec", "volumeMode", absent="<unset>"), priority=1),
    ),
    returns_deleted=True,
)
