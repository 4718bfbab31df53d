"""Global flags: help and version."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import flag
from kapi.options.kinds import BOOL, VERSION


@dataclass(kw_only=True, eq=False, repr=False)
class GlobalOptions:
    """The global flags, with their defaults."""

    section: ClassVar[str] = "global"

    help: bool = flag(BOOL, "Print this help.", short="h")
    version: str = flag(
        VERSION,
        "Print the version and end; --version=raw prints all of it.",
        check=lambda value: "cannot change the version that is reported" if value.startswith("v") else None,
    )

    def validate(self) -> list[str]:
        return []
