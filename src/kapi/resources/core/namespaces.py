"""Namespaces: scopes for names. One that is deleted stays, terminating, until its finalizers are gone."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.fields import FieldError, invalid
from kapi.api.names import dns_label, label_key
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import excluding
from kapi.registry.metadata import STANDARD_FINALIZERS
from kapi.registry.resource import Resource, Subresource, metadata_fields
from kapi.registry.strategy import Strategy, copy_field, keep_spec
from kapi.registry.table import AGE, NAME, Column, field_value

NAME_LABEL = "kubernetes.io/metadata.name"
_FINALIZER = "kubernetes"


def default(new: Object) -> None:
    """Every namespace is labelled with its own name, and active unless it says otherwise."""
    name = new["metadata"].get("name")
    if name:
        new["metadata"].setdefault("labels", {})[NAME_LABEL] = name
    status = new.setdefault("status", {})
    status["phase"] = status.get("phase") or "Active"


def prepare_for_create(_: Call, new: Object) -> None:
    new["status"] = {"phase": "Active"}
    finalizers = new.setdefault("spec", {}).setdefault("finalizers", [])
    if _FINALIZER not in finalizers:
        finalizers.append(_FINALIZER)
    default(new)


def prepare_for_update(_: Call, new: Object, old: Object) -> None:
    for field in ("spec", "status"):
        if field == "spec":
            new["spec"] = {**new.get("spec", {}), "finalizers": old.get("spec", {}).get("finalizers", [])}
            if not new["spec"]["finalizers"]:
                del new["spec"]["finalizers"]
        else:
            copy_field(new, old, field)


def prepare_for_finalize(_: Call, new: Object, old: Object) -> None:
    copy_field(new, old, "status")


def validate(_: Call, new: Object) -> list[FieldError]:
    return [e for name in new["spec"]["finalizers"] for e in _validate_finalizer(name, "spec.finalizers")]


def validate_finalize(_: Call, new: Object, __: Object) -> list[FieldError]:
    names = (new.get("spec") or {}).get("finalizers") or []
    return [e for i, name in enumerate(names) for e in _validate_finalizer(name, f"spec.finalizers[{i}]")]


def _validate_finalizer(name: str, path: str) -> list[FieldError]:
    errors = [invalid(path, name, e) for e in label_key(name)]
    if "/" not in name and name not in STANDARD_FINALIZERS:
        why = "name is neither a standard finalizer name nor is it fully qualified"
        errors.append(invalid(path, name, why))
    return errors


def validate_status(_: Call, new: Object, __: Object) -> list[FieldError]:
    phase = new["status"]["phase"]
    if new["metadata"].get("deletionTimestamp"):
        if phase != "Terminating":
            detail = "may only be 'Terminating' if `deletionTimestamp` is not empty"
            return [invalid("status.Phase", phase, detail)]
    elif phase != "Active":
        return [invalid("status.Phase", phase, "may only be 'Active' if `deletionTimestamp` is empty")]
    return []


def holds(decoded: Object) -> bool:
    """What its controllers have to do first is in spec.finalizers."""
    return bool(decoded.get("spec", {}).get("finalizers"))


def mark_deleting(decoded: Object, now: str) -> None:
    decoded["metadata"].setdefault("deletionTimestamp", now)
    decoded.setdefault("status", {})["phase"] = "Terminating"


def fields_of(decoded: Object) -> dict[str, str]:
    return {**metadata_fields(decoded), "status.phase": decoded.get("status", {}).get("phase", "")}


RESOURCE = Resource(
    group="",
    version="v1",
    kind="Namespace",
    strategy=Strategy(
        default=default,
        prepare_for_create=prepare_for_create,
        prepare_for_update=prepare_for_update,
        validate=validate,
        validate_name=dns_label,
        holds=holds,
        mark_deleting=mark_deleting,
        precondition_failed="Precondition failed",
        reset=excluding("status"),
    ),
    subresources={
        "status": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=keep_spec,
                validate_update=validate_status,
                holds=holds,
                reset=excluding("spec"),
            )
        ),
        "finalize": Subresource(
            strategy=Strategy(
                default=default,
                prepare_for_update=prepare_for_finalize,
                validate_update=validate_finalize,
                holds=holds,
                reset=excluding("status"),
            ),
            verbs=("update",),
        ),
    },
    columns=(NAME, Column("Status", field_value("status", "phase")), AGE),
    fields_of=fields_of,
    field_names=("status.phase",),
    returns_deleted=True,
)
