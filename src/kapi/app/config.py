"""From completed options to the configuration that the three servers share."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi.api.clock import Clock
from kapi.app.security import Gatekeepers
from kapi.flowcontrol.control import FlowControl
from kapi.options.complete import CompletedOptions
from kapi.server.config import Capabilities, GenericConfig, Serving
from kapi.server.health import Check
from kapi.server.version import version_info
from kapi.telemetry.instruments import Instruments
from kapi.wire.bind import Bind
from kapi.wire.limits import Limits
from kapi.wire.tls import SNICertificate, TLSConfig

if TYPE_CHECKING:
    from kapi.audit.auditor import Auditor


def generic_config(
    completed: CompletedOptions,
    clock: Clock,
    instruments: Instruments,
    checks: tuple[Check, ...],
    gatekeepers: Gatekeepers,
) -> GenericConfig:
    options = completed.options
    generic = options.generic
    return GenericConfig(
        clock=clock,
        instruments=instruments,
        audit=_auditor(completed, clock, instruments),
        loopback=gatekeepers.loopback,
        authenticator=gatekeepers.authenticator,
        authorizer=gatekeepers.security.authorizer,
        secure_serving=_secure_serving(completed),
        insecure_serving=_insecure_serving(completed),
        external_address=f"{completed.external_host}:{options.secure_serving.secure_port}",
        request_timeout=generic.request_timeout,
        min_request_timeout=float(generic.min_request_timeout),
        max_requests_in_flight=generic.max_requests_inflight,
        max_mutating_requests_in_flight=generic.max_mutating_requests_inflight,
        flow_control=_flow_control(completed, clock, instruments),
        goaway_chance=generic.goaway_chance,
        hsts_directives=tuple(generic.strict_transport_security_directives),
        cors_allowed_origins=tuple(generic.cors_allowed_origins),
        health_checks=checks,
        livez_grace_period=generic.livez_grace_period,
        shutdown_delay=generic.shutdown_delay_duration,
        shutdown_send_retry_after=generic.shutdown_send_retry_after,
        shutdown_watch_grace_period=generic.shutdown_watch_termination_grace_period,
        profiling=options.features.profiling,
        capabilities=Capabilities(
            allow_privileged=completed.capabilities.allow_privileged,
            per_connection_bandwidth_limit=completed.capabilities.per_connection_bytes_per_second,
        ),
        features=completed.feature_gates,
        version=version_info(generic.emulated_minor, generic.compatible_minor),
    )


def _flow_control(completed: CompletedOptions, clock: Clock, instruments: Instruments) -> FlowControl | None:
    """The two limits, when they are one: every level has its part of their sum."""
    generic = completed.options.generic
    if not completed.options.features.enable_priority_and_fairness:
        return None
    return FlowControl(generic.max_requests_inflight + generic.max_mutating_requests_inflight, clock, instruments)


def _auditor(completed: CompletedOptions, clock: Clock, instruments: Instruments) -> Auditor | None:
    options = completed.options.audit
    if not (options.audit_policy_file or options.audit_log_path or options.audit_webhook_config_file):
        return None
    from kapi.app.audit import build_auditor  # loaded only where something is to be written down

    return build_auditor(options, clock, instruments)


def _secure_serving(completed: CompletedOptions) -> Serving:
    serving, authentication = completed.options.secure_serving, completed.options.authentication
    tls = TLSConfig(
        cert_file=str(completed.cert_file),
        key_file=str(completed.key_file),
        sni=tuple(
            SNICertificate(cert_file=pair.cert_file, key_file=pair.key_file, names=tuple(pair.names))
            for pair in serving.tls_sni_cert_key
        ),
        client_ca_files=tuple(
            file for file in (authentication.client_ca_file, authentication.requestheader_client_ca_file) if file
        ),
        min_version=serving.tls_min_version or "VersionTLS12",
        cipher_suites=tuple(serving.tls_cipher_suites),
        curve_preferences=tuple(serving.tls_curve_preferences),
    )
    bind = Bind(
        host=serving.bind_address,
        port=serving.secure_port,
        permit_port_sharing=serving.permit_port_sharing,
        permit_address_sharing=serving.permit_address_sharing,
    )
    limits = Limits(
        max_streams=serving.http2_max_streams_per_connection or Limits().max_streams,
        disable_http2=serving.disable_http2_serving,
    )
    return Serving(bind=bind, tls=tls, limits=limits)


def _insecure_serving(completed: CompletedOptions) -> Serving | None:
    if completed.insecure_address is None:
        return None
    host, port = completed.insecure_address
    return Serving(bind=Bind(host=host, port=port))
