"""Insecure serving flags: plain HTTP without authentication and authorization, off unless asked for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from kapi.options import checks
from kapi.options.flag import flag
from kapi.options.kinds import INT, IP


@dataclass(kw_only=True, eq=False, repr=False)
class InsecureServingOptions:
    """The insecure serving flags, with their defaults."""

    section: ClassVar[str] = "insecure serving"

    insecure_bind_address: str = flag(
        IP,
        "The address to listen on for --insecure-port. 0.0.0.0 and :: are all interfaces: whoever reaches the port may "
        "do everything.",
        default="127.0.0.1",
        also=("address",),
    )
    insecure_port: int = flag(
        INT,
        "The port for HTTP without authentication and authorization. 0: off. Kubernetes 1.24 removed it.",
        also=("port",),
        check=checks.port,
    )

    def validate(self) -> list[str]:
        return []
