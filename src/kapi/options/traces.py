"""Traces flags: OpenTelemetry."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import Refused, flag
from kapi.options.kinds import STRING


@dataclass(kw_only=True, eq=False, repr=False)
class TracesOptions:
    """The traces flags, with their defaults."""

    section: ClassVar[str] = "traces"

    tracing_config_file: str = flag(
        STRING,
        "The file that says where traces are sent, and how many.",
        standing=Refused("no traces are sent yet"),
    )

    def validate(self) -> list[str]:
        return []
