"""Logs flags: how much is logged, and how it looks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options import checks
from kapi.options.flag import Refused, Supported, flag
from kapi.options.kinds import BOOL, DURATION, LEVEL, PATTERNS, QUANTITY, STRING

_ONE_STREAM = Refused("every line is written to standard error at once: nothing is split or buffered")


@dataclass(kw_only=True, eq=False, repr=False)
class LogsOptions:
    """The logs flags, with their defaults."""

    section: ClassVar[str] = "logs"

    log_flush_frequency: float = flag(
        DURATION,
        "How long a line may wait before it is written.",
        default=5.0,
        standing=Supported("every line is written at once, which is within any limit"),
        check=lambda value: "must be greater than 0" if value <= 0 else None,
    )
    log_json_info_buffer_size: str = flag(QUANTITY, "With json: how many bytes to buffer.", standing=_ONE_STREAM)
    log_json_split_stream: bool = flag(
        BOOL, "With json: errors to standard error, the rest to standard output.", standing=_ONE_STREAM
    )
    log_text_info_buffer_size: str = flag(QUANTITY, "With text: how many bytes to buffer.", standing=_ONE_STREAM)
    log_text_split_stream: bool = flag(
        BOOL, "With text: errors to standard error, the rest to standard output.", standing=_ONE_STREAM
    )
    logging_format: str = flag(STRING, "text or json.", default="text", check=checks.one_of("text", "json"))
    v: int = flag(LEVEL, "How much to log: 0 is what an operator must know, higher is more.", short="v")
    vmodule: str = flag(
        PATTERNS, "Other levels for single files.", standing=Refused("there is one level, -v, for the whole server")
    )

    def validate(self) -> list[str]:
        return []
