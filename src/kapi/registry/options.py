"""The options of writes, as handlers parse them and stores obey them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from kapi.api import errors
from kapi.api.fields import FieldError, invalid, not_supported
from kapi.api.gvk import GroupKind

FieldValidation: TypeAlias = Literal["Ignore", "Warn", "Strict"]


@dataclass(frozen=True, slots=True, kw_only=True)
class WriteOptions:
    """CreateOptions, UpdateOptions and PatchOptions."""

    dry_run: bool = False
    field_manager: str = ""
    field_validation: FieldValidation = "Warn"
    force: bool = False  # apply only


@dataclass(slots=True, kw_only=True)
class DeleteOptions:
    """`grace_period` may be filled in from the strategy as the delete proceeds."""

    dry_run: bool = False
    grace_period: int | None = None
    uid: str | None = None
    resource_version: str | None = None
    orphan_dependents: bool | None = None
    propagation_policy: str | None = None
    ignore_read_errors: bool = False  # remove what cannot be read, without looking at it


def check_delete_options(options: DeleteOptions, dry_run: list[str], others: Sequence[FieldError] = ()) -> None:
    """Refuse options that contradict themselves, and for the `others`; `dry_run` is as the client gave it."""
    found: list[FieldError] = []
    policy = options.propagation_policy
    if policy is not None and options.orphan_dependents is not None:
        detail = "orphanDependents and deletionPropagation cannot be both set"
        found.append(invalid("propagationPolicy", policy, detail))
    if policy is not None and policy not in ("Foreground", "Background", "Orphan"):
        found.append(
            not_supported("propagationPolicy", policy, ["Foreground", "Background", "Orphan", "nil"], in_order=True)
        )
    found += [*dry_run_problems(dry_run), *others]
    if found:
        raise errors.Invalid(GroupKind("meta.k8s.io", "DeleteOptions"), "", found)


def dry_run_problems(dry_run: list[str]) -> list[FieldError]:
    if all(value == "All" for value in dry_run):
        return []
    return [not_supported("dryRun", dry_run, ["All"])]
