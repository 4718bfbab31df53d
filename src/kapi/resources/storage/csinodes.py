"""CSINodes: the storage drivers that run on a node."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, duplicate, go_struct, invalid, required
from kapi.api.names import label_key
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, copy_field, keep_metadata, keep_status
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.podspec.volume_sources import validate_driver_name

_ID_LENGTH = 256


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "spec")
    keep_metadata(new, old)
    # Health of storage is not served.
    if not (old.get("status") or {}).get("storageHealth"):
        (new.get("status") or {}).pop("storageHealth", None)


def validate(_: Call, new: Object) -> list[FieldError]:
    errors: list[FieldError] = []
    seen: set[str] = set()
    for i, driver in enumerate(new["spec"].get("drivers") or []):
        path, name, node = f"spec.drivers[{i}]", driver.get("name", ""), driver.get("nodeID", "")
        errors += validate_driver_name(name, f"{path}.name")
        if not node:
            errors.append(required(f"{path}.nodeID"))
        if len(node.encode()) > _ID_LENGTH:
            errors.append(invalid(f"{path}.nodeID", node, f"must be {_ID_LENGTH} characters or less"))
        count = (driver.get("allocatable") or {}).get("count")
        if count is not None and count < 0:
            errors.append(invalid(f"{path}.allocatable.count", count, "must be greater than or equal to 0"))
        if name in seen:
            errors.append(duplicate(f"{path}.name", name))
        seen.add(name)
        errors += _validate_topology_keys(driver.get("topologyKeys") or [], path)
    return errors


def _validate_topology_keys(keys: list[str], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    for i, key in enumerate(keys):
        if not key:
            errors.append(required(path))
        if key in keys[:i]:
            errors.append(duplicate(path, key))
        errors += [invalid(path, key, e) for e in label_key(key)]
    return errors


def validate_update(call: Call, new: Object, old: Object) -> list[FieldError]:
    """Of a driver that stays, only how many volumes it can take may change."""
    errors = validate(call, new)
    former = {driver.get("name"): _settled(driver) for driver in old["spec"].get("drivers") or []}
    for driver in new["spec"].get("drivers") or []:
        settled = _settled(driver)
        if former.get(driver.get("name"), settled) != settled:
            errors.append(invalid("spec.drivers", go_struct(settled), "field is immutable"))
    return errors


def _settled(driver: Object) -> Object:
    return {key: value for key, value in driver.items() if key != "allocatable" and value}


RESOURCE = Resource(
    group="storage.k8s.io",
    version="v1",
    kind="CSINode",
    strategy=Strategy(
        prepare_for_create=prepare_for_create,
        prepare_for_update=keep_status,
        validate=validate,
        validate_update=validate_update,
        unconditional_update=False,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                prepare_for_update=prepare_for_status_update,
                unconditional_update=False,
                reset=excluding("metadata", "spec"),
            )
        )
    },
    columns=(NAME, Column("Drivers", lambda node: len(node["spec"].get("drivers") or ()), type="integer"), AGE),
    returns_deleted=True,
)
