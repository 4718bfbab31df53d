"""Cloud provider flags: of releases whose API server still talked to clouds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import Refused, flag
from kapi.options.kinds import STRING

_NONE = "no cloud provider is built in: clouds are the cloud controller manager's business"
_DEPRECATED = "removed in Kubernetes 1.33"


@dataclass(kw_only=True, eq=False, repr=False)
class CloudProviderOptions:
    """The cloud provider flags, with their defaults."""

    section: ClassVar[str] = "cloud provider"

    cloud_config: str = flag(
        STRING, "The cloud provider's configuration file.", deprecated=_DEPRECATED, standing=Refused(_NONE)
    )
    cloud_provider: str = flag(
        STRING,
        "The cloud provider; 'external' says that there is one elsewhere.",
        deprecated=_DEPRECATED,
        standing=Refused(_NONE, agrees=("external",)),
    )

    def validate(self) -> list[str]:
        return []
