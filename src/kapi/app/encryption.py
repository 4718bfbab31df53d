"""Encryption at rest, where it is configured: opened before the stores, looked after while serving, closed last."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kapi.options.complete import CompletedOptions
from kapi.server.config import GenericConfig
from kapi.server.health import Check
from kapi.server.hooks import HookContext
from kapi.server.server import GenericServer
from kapi.storage import kv

if TYPE_CHECKING:
    from kapi.storage.encryption.encryption import Encryption

_HOOK = "start-encryption-provider-config-automatic-reload"


async def open_encryption(completed: CompletedOptions, config: GenericConfig) -> Encryption | None:
    """Raises kv.StorageError, whose message says what is wrong with the configuration."""
    etcd = completed.options.etcd
    if not etcd.encryption_provider_config:
        return None
    from kapi.storage.encryption.configuration import ConfigurationError  # nothing of it is loaded where it is not used
    from kapi.storage.encryption.encryption import Encryption
    from kapi.storage.encryption.load import Environment
    from kapi.storage.encryption.metrics import EncryptionMetrics

    environment = Environment(
        clock=config.clock,
        metrics=EncryptionMetrics(config.instruments.registry),
        reload=etcd.encryption_provider_config_automatic_reload,
        kms_v1=completed.feature_gates["KMSv1"],
    )
    try:
        return await Encryption.start(etcd.encryption_provider_config, environment)
    except ConfigurationError as error:
        raise kv.StorageError(str(error)) from None


def checks_of(encryption: Encryption | None) -> tuple[Check, ...]:
    """As upstream: a plugin that is ill does not get the server restarted."""
    if encryption is None:
        return ()
    return tuple(Check(name=name, run=run, endpoints=("healthz", "readyz")) for name, run in encryption.health_checks())


def look_after_encryption(encryption: Encryption | None, server: GenericServer) -> None:
    if encryption is None:
        return

    async def start(context: HookContext) -> None:
        context.spawn(encryption.run(), name="encryption")

    server.add_post_start_hook(_HOOK if encryption.reloads else "start-encryption-providers", start)
