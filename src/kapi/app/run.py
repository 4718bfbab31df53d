"""Run: open the store, build the chain, serve until told to stop, and leave nothing behind."""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from kapi.admission.configuration import ConfigurationError
from kapi.api.clock import SystemClock
from kapi.app.chain import ServerChain
from kapi.app.config import generic_config
from kapi.app.controllers import add_controllers
from kapi.app.encryption import checks_of, look_after_encryption, open_encryption
from kapi.app.extensions import ExtensionError
from kapi.app.security import gatekeepers
from kapi.app.storage import Engines, open_engines
from kapi.app.storage_metrics import StorageMetrics
from kapi.app.zpages import add_zpages
from kapi.options.complete import CompletedOptions
from kapi.server.hooks import HookContext, HookFailed
from kapi.server.run import PreparedServer
from kapi.server.signals import stop_on_signals
from kapi.server.version import version_info
from kapi.storage.factory import StorageFactory
from kapi.telemetry.instruments import Instruments
from kapi.telemetry.log import log
from kapi.wire import loop
from kapi.wire.memory import keep_freed_memory

# Requests leave few cycles behind: the collector looks every so many objects, and rarely at those that stayed.
_COLLECT_AFTER = (20_000, 20, 50)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """Said once, when the server is ready. `seconds` is the time that took."""

    url: str
    port: int
    seconds: float


def run(completed: CompletedOptions, *, on_ready: Callable[[Ready], None] | None = None) -> int:
    """Serve until SIGTERM or SIGINT; the exit status. What cannot be opened or listened on is raised."""
    keep_freed_memory()
    try:
        loop.run(_run(completed, on_ready, time.monotonic()))
    except ConfigurationError as error:
        log.error("admission_not_configured", error=str(error))
        return 1
    except ExtensionError as error:
        log.error("extension_not_loaded", error=str(error))
        return 1
    except HookFailed as failed:
        log.error("post_start_hook_failed", error=str(failed))
        return 1
    return 0


async def _run(completed: CompletedOptions, on_ready: Callable[[Ready], None] | None, began: float) -> None:
    stop = asyncio.Event()
    stop_on_signals(stop)
    engines = await _open_unless_stopped(completed, stop)
    if engines is None:
        return
    try:
        clock = SystemClock()
        instruments = Instruments.create(version_info())
        keepers = gatekeepers(completed, clock, instruments.registry)
        config = generic_config(completed, clock, instruments, engines.checks(completed), keepers)
        encryption = await open_encryption(completed, config)
        config = replace(config, health_checks=(*config.health_checks, *checks_of(encryption)))
        chain = ServerChain(completed, config, engines, keepers.security, encryption)
        metrics = StorageMetrics(config.instruments.registry, engines, chain.factory)

        async def look_after(context: HookContext) -> None:
            """Count what is stored, and whatever else goes on for as long as the server runs."""
            etcd = completed.options.etcd
            context.spawn(engines.compact(etcd.etcd_compaction_interval), name="compaction")
            polling = metrics.poll(etcd.etcd_count_metric_poll_period, etcd.etcd_db_metric_poll_interval)
            context.spawn(polling, name="storage-metrics")
            if keepers.watch is not None:
                context.spawn(keepers.watch(), name="authentication-config")

        add_zpages(chain.server, completed)
        add_controllers(chain, completed)
        look_after_encryption(encryption, chain.server)
        chain.server.add_generic_hook("storage-object-count-tracker-hook", look_after)
        try:
            await _serve(chain.server.prepare_run(), chain.factory, stop, on_ready, began)
        finally:
            await chain.close()
            if encryption is not None:
                await encryption.close()
    finally:
        await engines.close()


async def _open_unless_stopped(completed: CompletedOptions, stop: asyncio.Event) -> Engines | None:
    """A store that is not there may be waited for; whoever stops the server meanwhile need not wait as well."""
    opening = asyncio.create_task(open_engines(completed))
    stopping = asyncio.create_task(stop.wait())
    await asyncio.wait((opening, stopping), return_when=asyncio.FIRST_COMPLETED)
    stopping.cancel()
    if opening.done():
        return opening.result()
    opening.cancel()
    await asyncio.wait((opening,))
    return None


async def _serve(
    prepared: PreparedServer,
    storage: StorageFactory,
    stop: asyncio.Event,
    on_ready: Callable[[Ready], None] | None,
    began: float,
) -> None:
    # What was made so far lives as long as the process: the collector need not look at it again, nor even once.
    gc.freeze()
    gc.set_threshold(*_COLLECT_AFTER)
    gc.enable()
    announcing = asyncio.create_task(_announce(prepared, storage, on_ready, began))
    try:
        await prepared.run(stop)
    finally:
        announcing.cancel()


async def _announce(
    prepared: PreparedServer, storage: StorageFactory, on_ready: Callable[[Ready], None] | None, began: float
) -> None:
    life = prepared.config.lifecycle
    await life.serving.wait()
    for hook in prepared.post_start_hooks:
        await hook.done.wait()
    await storage.served_from_now()
    listener = life.listeners[0]
    seconds = time.monotonic() - began
    log.info("ready", seconds=round(seconds, 3))
    if on_ready is not None:
        on_ready(Ready(url=f"https://{listener.host}:{listener.port}", port=listener.port, seconds=seconds))
