"""From completed options to who may do what: the modes, in the order in which they are asked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Protocol

from kapi.api.authorizer import Authorizer, RuleSource
from kapi.authz.basic import AlwaysAllow, AlwaysAllowPaths, AlwaysDeny, PrivilegedGroup
from kapi.authz.union import Union
from kapi.options.complete import CompletedOptions


class Mode(Authorizer, RuleSource, Protocol):
    """An authorizer that can tell what it allows."""


def build_authorizer(
    completed: CompletedOptions, modes: Mapping[str, Mode]
) -> tuple[Authorizer, tuple[RuleSource, ...]]:
    """The privileged group first, then the modes in their order; whether the server is well may be asked by all.

    Raises PolicyFileError.
    """
    known: dict[str, Mode] = {**modes, "AlwaysAllow": AlwaysAllow(), "AlwaysDeny": AlwaysDeny()}
    if "ABAC" in completed.authorization_modes:
        from kapi.authz.abac import ABAC  # only where there is a policy

        known["ABAC"] = ABAC.load(Path(completed.options.authorization.authorization_policy_file))
    asked = [known[mode] for mode in completed.authorization_modes]
    names = ["", *(mode.lower() for mode in completed.authorization_modes)]
    return Union([PrivilegedGroup(), *asked, AlwaysAllowPaths()], names), tuple(asked)
