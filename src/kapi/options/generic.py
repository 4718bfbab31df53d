"""Generic flags: what any API server has, whatever it serves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import ClassVar

from kapi.api.features import NEWEST, OLDEST, gate_problems
from kapi.options import checks
from kapi.options.flag import flag
from kapi.options.kinds import BOOL, DURATION, FLOAT, INT, IP, MULTIMAP, STRING, STRINGS

_HSTS = (
    "invalid, allowed values: max-age=expireTime, includeSubDomains, preload. "
    "see https://tools.ietf.org/html/rfc6797#section-6.1 for more information"
)
_SAME_VERSION = "cannot be set to true if the emulation version is the same as the binary version"


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


def _versions(values: tuple[str, ...]) -> str | None:
    """Of this component: `kube=1.36`, or `1.36`."""
    if len(values) > 1:
        first, second = (value if "=" in value else f"kube={value}" for value in values[:2])
        return f"duplicate version flag, {first} and {second}"
    for value in values:
        component, _, version = value.rpartition("=")
        if component not in ("", "kube"):
            return f"component not registered: {component}"
        if not re.fullmatch(r"v?\d+\.\d+(\.\d+)?", version):
            return f'could not parse "{version}" as version'
    return None


def _minor(values: tuple[str, ...], default: int) -> int:
    """Of a version that has no problems; another major version is out of every range."""
    if not values:
        return default
    major, minor = values[0].rpartition("=")[2].removeprefix("v").split(".")[:2]
    return int(minor) if major == "1" else -1


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
        check=_versions,
    )
    emulation_forward_compatible: bool = flag(
        BOOL,
        "With an emulated version: also serve APIs that were introduced after it.",
    )
    external_hostname: str = flag(
        STRING, "The host name for links to this server, such as those in OpenID discovery. Unset: the address."
    )
    feature_gates: Mapping[str, tuple[str, ...]] = flag(
        MULTIMAP,
        "Feature=true or Feature=false, comma separated, each with an optional 'kube:' in front.",
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
        check=_versions,
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

    @property
    def emulated_minor(self) -> int:
        return _minor(self.emulated_version, NEWEST)

    @property
    def compatible_minor(self) -> int:
        return _minor(self.min_compatibility_version, self.emulated_minor - 1)

    def validate(self) -> list[str]:
        if _versions(self.emulated_version) or _versions(self.min_compatibility_version):
            return []  # told already
        emulated, compatible = self.emulated_minor, self.compatible_minor
        errors = []
        if not OLDEST <= emulated <= NEWEST:
            errors.append(f"emulation version 1.{emulated} is not between [1.{OLDEST}, 1.{NEWEST}.0]")
        elif not OLDEST - 1 <= compatible <= emulated:
            errors.append(
                f"minCompatibilityVersion version 1.{compatible} is not between [1.{OLDEST - 1}, 1.{emulated}]"
            )
        if emulated == NEWEST and self.emulation_forward_compatible:
            errors.append(f"--emulation-forward-compatible {_SAME_VERSION}")
        if emulated == NEWEST and self.runtime_config_emulation_forward_compatible:
            errors.append(f"--runtime-config-emulation-forward-compatible {_SAME_VERSION}")
        return errors + [f"--feature-gates {problem}" for problem in gate_problems(self.gate_settings(), emulated)]

    def gate_settings(self) -> Iterator[str]:
        """The settings of --feature-gates, whatever component they were prefixed with."""
        for settings in self.feature_gates.values():
            yield from settings
