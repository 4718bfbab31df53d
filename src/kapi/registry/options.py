"""The options of writes, as handlers parse them and stores obey them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

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
    ignore_read_errors: bool = False  # ignoreStoreReadErrorWithClusterBreakingPotential
