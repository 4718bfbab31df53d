"""What strategies may need to know of the server they run in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    allow_privileged: bool = False
    features: Mapping[str, bool] = field(default_factory=dict)


DEFAULT = Settings()
