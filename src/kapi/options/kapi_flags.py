"""Kapi flags: what upstream has no flag for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import flag
from kapi.options.kinds import STRING


@dataclass(kw_only=True, eq=False, repr=False)
class KapiOptions:
    """The kapi flags, with their defaults."""

    section: ClassVar[str] = "kapi"

    data_dir: str = flag(
        STRING,
        "Where the embedded store keeps its files. Unset: 'kapi' in the user's data directory.",
    )

    def validate(self) -> list[str]:
        return []
