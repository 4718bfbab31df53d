"""PersistentVolumeClaims: a request for storage. What it asks for stays; a bound one may grow."""

from __future__ import annotations

import copy

from kapi.api.call import Call
from kapi.api.difference import difference
from kapi.api.fields import FieldError, forbidden, go_struct, invalid, not_supported, required
from kapi.api.names import label_key
from kapi.api.objects import Object
from kapi.api.quantity import Quantity
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, copy_field
from kapi.registry.table import AGE, NAME, Column, field_value
from kapi.resources.core.access_modes import short
from kapi.resources.core.claim_specs import claim_spec_warnings, default_claim_spec, validate_claim_spec
from kapi.resources.core.persistentvolumes import STORAGE_CLASS_ANNOTATION
from kapi.resources.core.resource_lists import validate_amount, validate_basic
from kapi.resources.podspec.defaults import round_resources
from kapi.resources.podspec.resources import is_native

_RESIZE_STATES = (
    "ControllerResizeInProgress",
    "ControllerResizeInfeasible",
    "NodeResizePending",
    "NodeResizeInProgress",
    "NodeResizeInfeasible",
)
_SIZE = "spec.resources.requests.storage"
_ATTRIBUTES = "spec.volumeAttributesClassName"
_SETTLED = "spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims"


def default(new: Object) -> None:
    spec, status = new.setdefault("spec", {}), new.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"
    default_claim_spec(spec)
    round_resources(status.get("capacity"))
    round_resources(status.get("allocatedResources"))


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"phase": "Pending"}
    _settle_sources(new["spec"], {})


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "status")
    _settle_sources(new["spec"], old.get("spec", {}))


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")
    if (old.get("status") or {}).get("healthStatus") is None:
        new["status"].pop("healthStatus", None)


def _settle_sources(spec: Object, former: Object) -> None:
    """The two ways to name where the data comes from say the same; unknown sources are dropped, as they always were."""
    reference = spec.get("dataSourceRef")
    # Sources in other namespaces are not served.
    if reference is not None and reference.get("namespace") and former.get("dataSourceRef") is None:
        del spec["dataSourceRef"]
    fresh = former.get("dataSource") is None and former.get("dataSourceRef") is None
    if fresh and spec.get("dataSourceRef") is None and not _is_copyable(spec.get("dataSource")):
        spec.pop("dataSource", None)
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if source is not None and reference is None:
        spec["dataSourceRef"] = dict(source)
    elif reference is not None and source is None and not reference.get("namespace"):
        spec["dataSource"] = {key: value for key, value in reference.items() if key != "namespace"}


def _is_copyable(source: Object | None) -> bool:
    if source is None:
        return False
    return (source.get("kind"), source.get("apiGroup") or "") in (
        ("PersistentVolumeClaim", ""),
        ("VolumeSnapshot", "snapshot.storage.k8s.io"),
    )


def validate(_: Call, new: Object) -> list[FieldError]:
    return validate_claim_spec(new["spec"], "spec")


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    spec, former = new["spec"], old["spec"]
    known = any((former.get(f) or {}).get("apiGroup") is not None for f in ("dataSource", "dataSourceRef"))
    errors = validate_claim_spec(spec, "spec", known_groups=known)
    errors += _validate_settled(new, old)
    if _size(spec) < _size(former):
        # A failed expansion may be taken back, down to what there is.
        have = ((old.get("status") or {}).get("capacity") or {}).get("storage", "0")
        if _size(spec) <= Quantity.parse(have):
            errors.append(forbidden(_SIZE, "field can not be less than status.capacity"))
    if spec.get("volumeMode") != former.get("volumeMode"):
        errors.append(invalid("volumeMode", spec.get("volumeMode"), "field is immutable"))
    attributes, in_use = spec.get("volumeAttributesClassName"), "currentVolumeAttributesClassName"
    changed = attributes != former.get("volumeAttributesClassName")
    if changed and not attributes and (old.get("status") or {}).get(in_use) is not None:
        what = "nil" if attributes is None else "empty string"
        errors.append(forbidden(_ATTRIBUTES, f"update to {what} is forbidden when status.{in_use} is not nil"))
    return errors


def _size(spec: Object) -> Quantity:
    return Quantity.parse(((spec.get("resources") or {}).get("requests") or {}).get("storage", "0"))


def _validate_settled(new: Object, old: Object) -> list[FieldError]:
    spec, former = copy.deepcopy(new["spec"]), copy.deepcopy(old["spec"])
    errors: list[FieldError] = []
    if not former.get("volumeName"):
        copy_field(former, spec, "volumeName")
    annotated = (old["metadata"].get("annotations") or {}).get(STORAGE_CLASS_ANNOTATION)
    now = (new["metadata"].get("annotations") or {}).get(STORAGE_CLASS_ANNOTATION)
    name = spec.get("storageClassName")
    unnamed = former.get("storageClassName") is None and name is not None
    if unnamed and annotated is not None and name == annotated and now in (None, annotated):
        del spec["storageClassName"]
    else:
        if (now or "") != (annotated or ""):
            at = f"metadata.annotations.{STORAGE_CLASS_ANNOTATION}"
            errors.append(invalid(at, now or "", "field is immutable"))
        if unnamed and annotated in (None, name):
            del spec["storageClassName"]
    if (new.get("status") or {}).get("phase") == "Bound":
        copy_field(spec, former, "volumeAttributesClassName")
        requests = (spec.get("resources") or {}).get("requests")
        if requests is not None:
            requests["storage"] = ((former.get("resources") or {}).get("requests") or {}).get("storage", "0")
    if spec != former:
        changes = difference(go_struct(former), go_struct(spec))
        errors.append(forbidden("spec", f"{_SETTLED}\n{changes}"))
    return errors


def validate_status_update(_: Call, new: Object, __: Object) -> list[FieldError]:
    status = new.get("status") or {}
    errors = [] if new["spec"].get("accessModes") else [required("Spec.accessModes")]
    for name, amount in (status.get("capacity") or {}).items():
        errors += validate_basic(amount, f"status.capacity[{name}]")
    path = "status.allocatedResourceStatuses"
    for name, state in (status.get("allocatedResourceStatuses") or {}).items():
        errors += _validate_resource_key(name, path)
        if state not in _RESIZE_STATES:
            errors.append(not_supported(path, name, _RESIZE_STATES))
    path = "status.allocatedResources"
    for name, amount in (status.get("allocatedResources") or {}).items():
        at = f"{path}[{name}]"
        errors += _validate_resource_key(name, path) or (
            validate_basic(amount, at) or validate_amount("storage", amount, at)
        )
    return errors


def _validate_resource_key(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, e) for e in label_key(name)]
    if not errors and is_native(name) and name != "storage":
        errors.append(not_supported(path, name, ("storage",)))
    return errors


def warnings(_: Call, new: Object, __: Object | None) -> list[str]:
    found = claim_spec_warnings(new["spec"], "spec")
    if STORAGE_CLASS_ANNOTATION not in (new["metadata"].get("annotations") or {}):
        return found
    why = 'deprecated since v1.8; use "storageClassName" attribute instead'
    return [f"metadata.annotations[{STORAGE_CLASS_ANNOTATION}]: {why}", *found]


def _phase(claim: Object) -> str:
    if claim["metadata"].get("deletionTimestamp"):
        return "Terminating"
    phase: str = (claim.get("status") or {}).get("phase", "")
    return phase


def _capacity(claim: Object) -> str:
    if not claim["spec"].get("volumeName"):
        return ""
    capacity: str = ((claim.get("status") or {}).get("capacity") or {}).get("storage", "0")
    return capacity


def _modes(claim: Object) -> str:
    return short((claim.get("status") or {}).get("accessModes")) if claim["spec"].get("volumeName") else ""


def _class(claim: Object) -> str:
    annotated = (claim["metadata"].get("annotations") or {}).get(STORAGE_CLASS_ANNOTATION)
    name: str = annotated if annotated is not None else claim["spec"].get("storageClassName") or ""
    return name


RESOURCE = Resource(
    group="",
    version="v1",
    kind="PersistentVolumeClaim",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        warnings=warnings,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=prepare_for_status_update,
                validate_update=validate_status_update,
                reset=excluding("spec"),
            )
        )
    },
    columns=(
        NAME,
        Column("Status", _phase),
        Column("Volume", field_value("spec", "volumeName")),
        Column("Capacity", _capacity),
        Column("Access Modes", _modes),
        Column("StorageClass", _class),
        Column("VolumeAttributesClass", field_value("spec", "volumeAttributesClassName", absent="<unset>")),
        AGE,
        Column("VolumeMode", field_value("spec", "volumeMode", absent="<unset>"), priority=1),
    ),
    returns_deleted=True,
)
