"""ResourceClaims: a request for devices, and what became of it."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.resource import Resource, Subresource
from kapi.registry.strategy import Strategy, copy_field, keep_metadata, keep_status
from kapi.registry.table import AGE, NAME, Column
from kapi.resources.resource.allocations import allocated, check_status, device_id
from kapi.resources.resource.findings import Findings
from kapi.resources.resource.requests import check_claim, default_claim, drop_unserved


def default(new: Object) -> None:
    default_claim(new.get("spec"))


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {}
    drop_unserved(new.get("spec"))


def prepare_for_update(call: Call, new: Object, old: Object) -> None:
    keep_status(call, new, old)
    drop_unserved(new.get("spec"))


def prepare_for_status_update(_: Call, new: Object, old: Object) -> None:
    """Devices that are no longer allocated have no status any more."""
    copy_field(new, old, "spec")
    keep_metadata(new, old)
    status = new["status"]
    for result in ((status.get("allocation") or {}).get("devices") or {}).get("results") or []:
        # Skipping what nodes do is not served.
        result.pop("skipNodeOperations", None)
    gone = allocated(old.get("status") or {}) - allocated(status)
    kept = [device for device in status.get("devices") or [] if device_id(device) not in gone]
    if kept:
        status["devices"] = kept
    else:
        status.pop("devices", None)


def validate(_: Call, new: Object) -> list[FieldError]:
    found = Findings()
    check_claim(found, new["spec"], "spec")
    return found.all


def validate_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    return [] if new["spec"] == old["spec"] else [invalid("spec", None, "field is immutable")]


def validate_status_update(_: Call, new: Object, old: Object) -> list[FieldError]:
    found = Findings()
    check_status(found, new, old)
    return found.all


def _state(claim: Object) -> str:
    status, deleted = claim.get("status") or {}, bool(claim["metadata"].get("deletionTimestamp"))
    states = ["deleted"] if deleted else []
    if status.get("allocation") is None:
        states += [] if deleted else ["pending"]
    else:
        states += ["allocated", "reserved"] if status.get("reservedFor") else ["allocated"]
    return ",".join(states)


RESOURCE = Resource(
    group="resource.k8s.io",
    version="v1",
    kind="ResourceClaim",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_update=validate_update,
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=prepare_for_status_update,
                validate_update=validate_status_update,
                reset=excluding("metadata", "spec"),
            )
        )
    },
    columns=(NAME, Column("State", _state), AGE),
    returns_deleted=True,
)
