"""Completion: what the options leave open is decided here, once. The server is built from the result.

Call it after `validate` found nothing: it writes the self-signed certificate.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kapi.api.features import feature_gates
from kapi.api.gvk import GroupResource
from kapi.controllers.names import GARBAGE_COLLECTOR, chosen
from kapi.options.addresses import NoAddress, advertise_address
from kapi.options.etcd import parse_overrides, parse_watch_cache_sizes
from kapi.options.runtime_config import normalize
from kapi.options.server_run_options import ServerRunOptions
from kapi.options.service_ips import DEFAULT_RANGE, ServiceIPs, service_ips
from kapi.options.validate import pending
from kapi.options.watch_cache_sizes import heuristic_watch_cache_sizes

SERVICE_NAMES = ("kubernetes.default.svc", "kubernetes.default", "kubernetes")
_PAIR_NAME = "apiserver"
_WARN_BELOW, _EXTENDED = 3607.0, 365 * 24 * 3600.0  # As upstream: of tokens whose life is extended


class OptionsError(Exception):
    """The options cannot be completed on this machine."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceAccounts:
    issuers: tuple[str, ...]
    key_files: tuple[Path, ...]  # that tokens are verified with
    signing_key_file: Path | None
    max_token_expiration: float  # seconds; 0 is no limit
    audiences: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """What the cluster lets pods and connections do."""

    allow_privileged: bool
    per_connection_bytes_per_second: int  # 0 is no limit


@dataclass(frozen=True, slots=True, kw_only=True)
class CompletedOptions:
    """The options with nothing left open. What is not repeated here is read from `options`, by group."""

    options: ServerRunOptions
    advertise_address: str
    external_host: str
    service_ips: ServiceIPs
    cert_file: Path
    key_file: Path
    insecure_address: tuple[str, int] | None  # where to serve without authentication; None: nowhere
    authorization_modes: tuple[str, ...]
    anonymous_auth: bool
    service_accounts: ServiceAccounts
    storage_backend: str  # etcd3, sqlite or memory
    data_dir: Path
    etcd_servers_overrides: Mapping[GroupResource, tuple[str, ...]]
    watch_cache_sizes: Mapping[GroupResource, int]
    runtime_config: Mapping[str, bool]
    feature_gates: Mapping[str, bool]
    capabilities: Capabilities
    controllers: tuple[str, ...]  # to run in process, by kube-controller-manager's names
    pending: tuple[str, ...]  # flags that take effect later, each with what happens meanwhile
    warnings: tuple[str, ...]


def complete(options: ServerRunOptions) -> CompletedOptions:
    """Raises OptionsError."""
    warnings: list[str] = []
    try:
        address = advertise_address(options.generic.advertise_address, options.secure_serving.bind_address)
    except NoAddress as error:
        raise OptionsError(str(error)) from error
    services = service_ips(options.misc.service_cluster_ip_range)
    if not options.misc.service_cluster_ip_range:
        warnings.append(
            f"No CIDR for service cluster IPs specified. Using {DEFAULT_RANGE}; set it with --service-cluster-ip-range."
        )
    cert_file, key_file = _serving_pair(options, address, services)
    modes, anonymous = _authorization(options, warnings)
    etcd, insecure = options.etcd, options.insecure_serving
    return CompletedOptions(
        options=options,
        advertise_address=address,
        external_host=options.generic.external_hostname or address,
        service_ips=services,
        cert_file=cert_file,
        key_file=key_file,
        insecure_address=(insecure.insecure_bind_address, insecure.insecure_port) if insecure.insecure_port else None,
        authorization_modes=modes,
        anonymous_auth=anonymous,
        service_accounts=_service_accounts(options, key_file, warnings),
        storage_backend=etcd.storage_backend or ("etcd3" if etcd.etcd_servers else "sqlite"),
        data_dir=Path(options.kapi.data_dir) if options.kapi.data_dir else default_data_dir(os.environ),
        etcd_servers_overrides=parse_overrides(etcd.etcd_servers_overrides),
        watch_cache_sizes=_watch_cache_sizes(options),
        runtime_config=normalize(options.api_enablement.runtime_config),
        feature_gates=feature_gates(options.generic.gate_settings(), options.generic.emulated_minor),
        capabilities=Capabilities(
            allow_privileged=options.misc.allow_privileged,
            per_connection_bytes_per_second=options.misc.max_connection_bytes_per_sec,
        ),
        controllers=_controllers(options),
        pending=tuple(pending(options)),
        warnings=tuple(warnings),
    )


def default_data_dir(environment: Mapping[str, str]) -> Path:
    if configured := environment.get("XDG_DATA_HOME"):
        return Path(configured) / "kapi"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / "kapi"
    return Path.home() / ".local" / "share" / "kapi"


def _serving_pair(options: ServerRunOptions, address: str, services: ServiceIPs) -> tuple[Path, Path]:
    """As upstream's MaybeDefaultWithSelfSignedCerts."""
    serving = options.secure_serving
    if serving.tls_cert_file:
        return Path(serving.tls_cert_file), Path(serving.tls_private_key_file)

    from kapi.wire.pki import CertificateError, ensure_self_signed  # only where no certificate is given

    # localhost is in every one, not only in those of wildcard addresses: people use it to look at a server.
    names, ips = [*SERVICE_NAMES, "localhost"], [services.api_server]
    if serving.bind_address not in ("0.0.0.0", "::"):
        ips.append(serving.bind_address)
    try:
        return ensure_self_signed(Path(serving.cert_dir), _PAIR_NAME, address, names, ips)
    except (OSError, CertificateError) as error:
        raise OptionsError(f"error creating self-signed certificates: {error}") from error


def _authorization(options: ServerRunOptions, warnings: list[str]) -> tuple[tuple[str, ...], bool]:
    """The modes, and whether anonymous requests are let in: not where everything is allowed."""
    given = options.authorization
    modes = given.authorization_mode or (() if given.authorization_config else ("AlwaysAllow",))
    anonymous = options.authentication.anonymous_auth
    if anonymous and "AlwaysAllow" in modes:
        warnings.append(
            "AnonymousAuth is not allowed with the AlwaysAllow authorizer. Resetting AnonymousAuth to false. "
            "You should use a different authorizer"
        )
        anonymous = False
    return modes, anonymous


def _service_accounts(options: ServerRunOptions, serving_key: Path, warnings: list[str]) -> ServiceAccounts:
    given, signing_key = options.authentication, options.misc.service_account_signing_key_file
    key_files = tuple(map(Path, given.service_account_key_file))
    if not key_files and not signing_key:
        # As in the releases before 1.20. The trap that made upstream drop it is worth a warning: a new serving key
        # silently ends every token.
        key_files = (serving_key,)
        warnings.append(
            "service account tokens are tied to the serving key: set --service-account-key-file and "
            "--service-account-signing-key-file, or a new serving key ends every token"
        )
    longest = given.service_account_max_token_expiration
    if given.service_account_extend_token_expiration and longest:
        if longest < _WARN_BELOW:
            warnings.append(
                "service-account-extend-token-expiration is true, in order to correctly trigger safe transition logic, "
                f"service-account-max-token-expiration must be set longer than {_WARN_BELOW:.0f} seconds"
            )
        if longest < _EXTENDED:
            warnings.append(
                f"service-account-extend-token-expiration is true, enabling tokens valid up to {_EXTENDED:.0f} "
                "seconds, which is longer than service-account-max-token-expiration"
            )
    return ServiceAccounts(
        issuers=given.service_account_issuer,
        key_files=key_files,
        signing_key_file=Path(signing_key) if signing_key else None,
        max_token_expiration=longest,
        audiences=given.api_audiences or given.service_account_issuer,
    )


def _controllers(options: ServerRunOptions) -> tuple[str, ...]:
    asked = chosen(options.kapi.in_process_controllers)
    # Finalizers that nobody writes need nobody who waits for them.
    return tuple(name for name in asked if name != GARBAGE_COLLECTOR or options.etcd.enable_garbage_collector)


def _watch_cache_sizes(options: ServerRunOptions) -> dict[GroupResource, int]:
    if not options.etcd.watch_cache:
        return {}
    chosen = parse_watch_cache_sizes(options.etcd.watch_cache_sizes)
    return heuristic_watch_cache_sizes(options.generic.target_ram_mb) | chosen
