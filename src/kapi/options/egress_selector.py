"""Egress selector flags: the way out to nodes, webhooks and etcd."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options.flag import Refused, flag
from kapi.options.kinds import STRING


@dataclass(kw_only=True, eq=False, repr=False)
class EgressSelectorOptions:
    """The egress selector flags, with their defaults."""

    section: ClassVar[str] = "egress selector"

    egress_selector_config_file: str = flag(
        STRING,
        "The file that says which proxy outgoing connections take.",
        standing=Refused("outgoing connections are direct; there are no egress proxies yet"),
    )

    def validate(self) -> list[str]:
        return []
