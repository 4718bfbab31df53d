"""What a generic server needs to know, complete and unchangeable. The three servers share one."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kapi.api.authorizer import Authorizer
from kapi.api.clock import Clock, SystemClock
from kapi.authn.authenticator import Authenticator
from kapi.flowcontrol.control import FlowControl
from kapi.server.health import Check
from kapi.server.lifecycle import Lifecycle
from kapi.server.loopback import LoopbackClient
from kapi.server.version import version_info
from kapi.telemetry.instruments import Instruments
from kapi.wire.bind import Bind
from kapi.wire.limits import Limits
from kapi.wire.tls import TLSConfig

if TYPE_CHECKING:
    from kapi.audit.auditor import Auditor  # loaded only where there is a policy


@dataclass(frozen=True, slots=True, kw_only=True)
class Serving:
    """A port, how it is served, and within which limits. Without TLS it is an insecure one."""

    bind: Bind | socket.socket
    tls: TLSConfig | None = None
    limits: Limits = field(default_factory=Limits)


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What pods may do here, and how much a connection may carry."""

    allow_privileged: bool = False
    per_connection_bandwidth_limit: int = 0  # bytes per second; zero is no limit


@dataclass(frozen=True, slots=True, kw_only=True)
class GenericConfig:
    clock: Clock = field(default_factory=SystemClock)
    version: Mapping[str, str] = field(default_factory=version_info)
    instruments: Instruments
    lifecycle: Lifecycle = field(default_factory=Lifecycle)
    loopback: LoopbackClient = field(default_factory=LoopbackClient)

    authenticator: Authenticator | None = None  # None: nobody is asked who they are (and everyone is trusted)
    authorizer: Authorizer | None = None  # None: everyone may do everything
    audit: Auditor | None = None  # None: nothing is written down

    secure_serving: Serving | None = None
    insecure_serving: Serving | None = None  # neither authentication nor authorization
    external_address: str = ""

    request_timeout: float = 60.0
    min_request_timeout: float = 1800.0
    max_request_body_bytes: int = 3 * 1024 * 1024
    max_requests_in_flight: int = 400
    max_mutating_requests_in_flight: int = 200
    flow_control: FlowControl | None = None  # None: the two limits above are all there is
    goaway_chance: float = 0.0
    hsts_directives: tuple[str, ...] = ()
    cors_allowed_origins: tuple[str, ...] = ()

    health_checks: tuple[Check, ...] = ()
    livez_grace_period: float = 0.0
    shutdown_delay: float = 0.0
    shutdown_send_retry_after: bool = False
    shutdown_watch_grace_period: float = 0.0

    profiling: bool = False
    capabilities: Capabilities = Capabilities()
    features: Mapping[str, bool] = field(default_factory=dict)
