"""Strategy: what is particular to one resource, as plain functions.

A function that is None has nothing to do. Validation returns every error it finds; nothing here does I/O.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kapi.api.call import Call
from kapi.api.fields import FieldError
from kapi.api.names import dns_subdomain
from kapi.api.objects import Object
from kapi.patch.apply.fieldset import Filter

OnCreate: TypeAlias = Callable[[Call, Object], None]
OnUpdate: TypeAlias = Callable[[Call, Object, Object], None]  # new, old
Validate: TypeAlias = Callable[[Call, Object], list[FieldError]]
ValidateUpdate: TypeAlias = Callable[[Call, Object, Object], list[FieldError]]  # new, old


@dataclass(frozen=True, slots=True, kw_only=True)
class Strategy:
    default: Callable[[Object], None] | None = None  # typed defaults: after every decode and patch
    prepare_for_create: OnCreate | None = None
    validate: Validate | None = None
    prepare_for_update: OnUpdate | None = None
    validate_update: ValidateUpdate | None = None
    canonicalize: Callable[[Object], None] | None = None
    warnings: Callable[[Call, Object, Object | None], list[str]] | None = None  # new, old
    validate_name: Callable[[str], list[str]] = dns_subdomain
    metadata_last: bool = False  # on create it is looked at only when all else is valid
    any_finalizer: bool = False  # also those without a domain
    create_on_update: bool = False
    unconditional_update: bool = True
    # Seconds an object may take to go, when the request does not say; None: it goes at once.
    grace_period: Callable[[Call, Object, int | None], int | None] | None = None
    # Raises why an object may not be deleted at all.
    check_delete: Callable[[Object], None] | None = None
    # Whether something besides its metadata.finalizers keeps a deleted object in place.
    holds: Callable[[Object], bool] | None = None
    # How a deleted object that must wait is marked, when not by a deletion timestamp and no grace period.
    mark_deleting: Callable[[Object, str], None] | None = None
    # What is said of a delete's preconditions by a resource that has its own words for them.
    precondition_failed: str = ""
    # What happens to dependents when a delete does not say.
    orphan_by_default: bool = False
    orphan_warning: str = ""  # told to whoever leaves it at that
    garbage_collected: bool = True
    reset: Filter | None = None  # leaves out of managedFields what this endpoint does not write


def clear_status(_: Call, new: Object) -> None:
    """A client does not set the status on create."""
    new.pop("status", None)


def keep_status(_: Call, new: Object, old: Object) -> None:
    """A client does not set the status through the resource itself."""
    copy_field(new, old, "status")


def keep_spec(_: Call, new: Object, old: Object) -> None:
    """A status endpoint that takes the status and metadata."""
    copy_field(new, old, "spec")


def keep_all_but_status(_: Call, new: Object, old: Object) -> None:
    """A status endpoint that takes the status only."""
    copy_field(new, old, "spec")
    keep_metadata(new, old)


def copy_field(target: Object, source: Object, field: str) -> None:
    if field in source:
        target[field] = source[field]
    else:
        target.pop(field, None)


def keep_metadata(new: Object, old: Object) -> None:
    """A status endpoint that leaves what users write into the metadata alone."""
    for field in ("deletionTimestamp", "labels", "annotations", "finalizers", "ownerReferences"):
        copy_field(new["metadata"], old["metadata"], field)


def start_generation(new: Object) -> None:
    new["metadata"]["generation"] = 1


def bump_generation(new: Object, old: Object, *fields: str) -> None:
    """The generation rises when what the user wants changes."""
    if any(new.get(f) != old.get(f) for f in fields or ("spec",)):
        new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1


ColumnType: TypeAlias = Literal["string", "integer", "number", "boolean", "date"]
Cell: TypeAlias = str | int | float | bool | None
FieldsOf: TypeAlias = Callable[[Object], Mapping[str, str]]
