"""API enablement flags: which APIs are served."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import flag
from kapi.options.kinds import PAIRS
from kapi.options.runtime_config import runtime_config_problem


@dataclass(kw_only=True, eq=False, repr=False)
class APIEnablementOptions:
    """The api enablement flags, with their defaults."""

    section: ClassVar[str] = "api enablement"

    runtime_config: Mapping[str, str] = flag(
        PAIRS,
        "APIs to turn on or off: api/all, api/ga, api/beta, api/alpha, group/version or group/version/resource, each "
        "=true or =false, comma separated.",
        check=runtime_config_problem,
    )

    def validate(self) -> list[str]:
        return []
