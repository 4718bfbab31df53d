"""Features flags: profiling, fairness, and the old swagger pages."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import Refused, Supported, flag
from kapi.options.kinds import BOOL, STRING


@dataclass(kw_only=True, eq=False, repr=False)
class FeatureOptions:
    """The features flags, with their defaults."""

    section: ClassVar[str] = "features"

    contention_profiling: bool = flag(
        BOOL, "Also profile waiting for locks.", standing=Refused("Python does not count waiting for locks")
    )
    debug_socket_path: str = flag(
        STRING,
        "A Unix socket that serves the profiler without authentication.",
        standing=Refused("the profiler is served by the secure port alone"),
    )
    enable_priority_and_fairness: bool = flag(
        BOOL,
        "Queue requests by priority level instead of one limit for all.",
        default=True,
    )
    enable_swagger_ui: bool = flag(
        BOOL,
        "Serve the swagger pages under /swagger-ui.",
        deprecated="removed in Kubernetes 1.17",
        standing=Refused("the swagger pages are not served yet"),
    )
    profiling: bool = flag(
        BOOL,
        "Serve the profiler under /debug/pprof/.",
        default=True,
        standing=Supported("profiles are Python's: `profile` is for pstats, `trace` for Perfetto, the rest is text"),
    )

    def validate(self) -> list[str]:
        return []
