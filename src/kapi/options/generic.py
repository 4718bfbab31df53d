"""Generic flags: what any API server has, whatever it serves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from kapi.api.features import gate_problems
from kapi.options import checks
from kapi.options.flag import Refused, flag
from kapi.options.kinds import BOOL, DURATION, FLOAT, INT, IP, MULTIMAP, STRING, STRINGS

_HSTS = (
    "invalid, allowed values: max-age=expireTime, includeSubDomains, preload. "
    "see https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
)
_ONE_VERSION = "kapi speaks one version, 1.37, and emulates no other"
_THE_VERSION = (("1.37",), ("kube=1.37",))
_THE_OLDEST = (("1.36",), ("kube=1.36",), *_THE_VERSION)


def _origins(values: tuple[str, ...]) -> str | None:
    for value in values:
        if not value:
            return "has an empty value"
        try:
            re.compile(value)
        except re.error as error:
            return f"has an invalid regular expression: {error}"
        # As upstream since CVE-2022-1996: an expression that pins neither end would also match hosts of others.
        if not (("^" in value or "//" in value) and ("$" in value or ":" in value)):
            return (
                "has an invalid regular expression: "
                "regular expression does not pin to start/end of host in the origin header"
            )
    return None


def _hsts(values: tuple[str, ...]) -> str | None:
    for value in values:
        if not value.strip():
            return "has an empty value"
        if value not in ("includeSubDomains", "preload") and not re.fullmatch(r"max-age=[^=]*", value):
            return _HSTS
    return None


def _goaway(value: float) -> str | None:
    return None if 0 <= value <= 0.02 else "can not be less than 0 or greater than 0.02"


def _gates(value: Mapping[str, tuple[str, ...]]) -> str | None:
    problems = [problem for settings in value.values() for problem in gate_problems(settings)]
    return ", ".join(problems) or None


@dataclass(kw_only=True, eq=False, repr=False)
class GenericOptions:
    """The generic flags, with their defaults."""

    section: ClassVar[str] = "generic"

    advertise_address: str = flag(
        IP,
        "The address that members of the cluster reach this server at. Unset, it is --bind-address, and where that "
        "names no interface, the address of the default route's interface.",
    )
    cors_allowed_origins: tuple[str, ...] = flag(
        STRINGS,
        "Origins that may make cross-origin requests, as regular expressions, comma separated. Each must pin the start "
        "and the end of the host, for instance '//example\\.com(:|$)'. Empty: CORS is off.",
        check=_origins,
    )
    emulated_version: tuple[str, ...] = flag(
        STRINGS,
        "The version whose APIs and features to emulate.",
        standing=Refused(_ONE_VERSION, agrees=_THE_VERSION),
    )
    emulation_forward_compatible: bool = flag(
        BOOL,
        "With an emulated version: also serve APIs that were introduced after it.",
        standing=Refused(_ONE_VERSION),
    )
    external_hostname: str = flag(
        STRING, "The host name for links to this server, such as those in OpenID discovery. Unset: the address."
    )
    feature_gates: Mapping[str, tuple[str, ...]] = flag(
        MULTIMAP,
        "Feature=true or Feature=false, comma separated, each with an optional 'kube:' in front.",
        check=_gates,
    )
    goaway_chance: float = flag(
        FLOAT,
        "The chance, from 0 to 0.02, that an HTTP/2 request is answered with a GOAWAY, so that its client connects "
        "anew, perhaps to another server behind the load balancer. 0 is off; 0.001 is a good start.",
        check=_goaway,
    )
    livez_grace_period: float = flag(
        DURATION,
        "How long start-up may take: until then, post-start hooks that have not finished do not fail /livez.",
        check=lambda value: "can not be a negative value" if value < 0 else None,
    )
    max_mutating_requests_inflight: int = flag(
        INT,
        "How many requests that change something may be under way at once; more get a 429. 0 is no limit.",
        default=200,
        check=checks.not_negative,
    )
    max_requests_inflight: int = flag(
        INT,
        "How many requests that only read may be under way at once; more get a 429. 0 is no limit.",
        default=400,
        check=checks.not_negative,
    )
    min_compatibility_version: tuple[str, ...] = flag(
        STRINGS,
        "The oldest version of other servers to stay compatible with.",
        standing=Refused(_ONE_VERSION, agrees=_THE_OLDEST),
    )
    min_request_timeout: int = flag(
        INT,
        "The least number of seconds after which a watch is ended. Each gets a random time from this on, "
        "which spreads the load.",
        default=1800,
        check=checks.not_negative,
    )
    request_timeout: float = flag(
        DURATION,
        "How long a request may take, watches and other long-running ones excepted.",
        default=60.0,
        check=checks.not_negative,
    )
    runtime_config_emulation_forward_compatible: bool = flag(
        BOOL,
        "With an emulated version: --runtime-config may also name APIs that were introduced after it.",
        standing=Refused(_ONE_VERSION),
    )
    shutdown_delay_duration: float = flag(
        DURATION,
        "How long requests are served as before after the signal to stop, while /readyz already fails, so that load "
        "balancers notice.",
        check=checks.not_negative,
    )
    shutdown_send_retry_after: bool = flag(
        BOOL,
        "While requests under way are drained, keep listening and answer new ones with 429 and Retry-After, "
        "closing the connection.",
    )
    shutdown_watch_termination_grace_period: float = flag(
        DURATION,
        "How long shutdown waits for the watches to end by themselves. 0: they are not waited for.",
        check=lambda value: "if provided, can not be a negative value" if value < 0 else None,
    )
    storage_initialization_timeout: float = flag(
        DURATION,
        "How long to wait at start for the store before readiness reports it.",
        default=60.0,
        check=checks.not_negative,
    )
    strict_transport_security_directives: tuple[str, ...] = flag(
        STRINGS,
        "Directives of the Strict-Transport-Security header, for instance 'max-age=31536000,includeSubDomains'. "
        "Empty: no header.",
        check=_hsts,
    )
    target_ram_mb: int = flag(
        INT,
        "The memory that this server may count on, in MB; watch cache sizes are estimated from it. 0: they follow "
        "the traffic.",
        check=checks.not_negative,
    )

    def validate(self) -> list[str]:
        return []

    def gate_settings(self) -> Iterator[str]:
        """The settings of --feature-gates, whatever component they were prefixed with."""
        for settings in self.feature_gates.values():
            yield from settings
