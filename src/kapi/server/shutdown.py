"""Shutdown, in order. As upstream's Run: nothing that was accepted is dropped.

phase               what happens
------------------  -------------------------------------------------------------------------------------
fail-readiness      /readyz fails; systemd is told; everything is still served
delay               --shutdown-delay-duration passes, meanwhile the pre-shutdown hooks run
stop-accepting      the ports close, or with --shutdown-send-retry-after new requests get a 429
drain               requests in flight end within the request timeout, watches within their grace period
close-connections   what is left of the connections closes
stop-background     what the hooks have spawned is cancelled
stop-audit          the audit backend writes out what it has, and stops
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence

from kapi.server.config import GenericConfig
from kapi.server.hooks import HookContext, PreShutdownHook
from kapi.server.systemd import STOPPING, notify

# With --shutdown-send-retry-after all that is left then is idle connections, which need no long goodbye.
SHORT_GOODBYE = 2.0


class Shutdown:
    def __init__(self, config: GenericConfig, hooks: Sequence[PreShutdownHook], context: HookContext) -> None:
        self._config = config
        self._life = config.lifecycle
        self._log = config.instruments.log
        self._hooks = hooks
        self._context = context

    @property
    def phases(self) -> Sequence[tuple[str, Callable[[], Awaitable[None]]]]:
        return (
            ("fail-readiness", self._fail_readiness),
            ("delay", self._delay),
            ("stop-accepting", self._stop_accepting),
            ("drain", self._drain),
            ("close-connections", self._close_connections),
            ("stop-background", self._stop_background),
            ("stop-audit", self._stop_audit),
        )

    async def run(self) -> None:
        for name, phase in self.phases:
            self._log.info("shutdown_phase", phase=name)
            await phase()
        self._log.info("shutdown_complete")

    async def _fail_readiness(self) -> None:
        self._life.shutdown_initiated.set()
        notify(STOPPING)

    async def _delay(self) -> None:
        await asyncio.gather(asyncio.sleep(self._config.shutdown_delay), self._run_hooks())

    async def _run_hooks(self) -> None:
        results = await asyncio.gather(*(hook.run() for hook in self._hooks), return_exceptions=True)
        for hook, result in zip(self._hooks, results, strict=True):
            if isinstance(result, Exception):
                # The rest of the shutdown is owed to the clients, whatever a hook did.
                self._log.error("pre_shutdown_hook_failed", hook=hook.name, reason=str(result) or repr(result))

    async def _stop_accepting(self) -> None:
        self._life.not_accepting_requests.set()
        if not self._config.shutdown_send_retry_after:
            for listener in self._life.listeners:
                listener.close()

    async def _drain(self) -> None:
        await asyncio.gather(
            self._drain_requests(), self._life.watches.terminate(self._config.shutdown_watch_grace_period)
        )
        self._life.drained.set()

    async def _drain_requests(self) -> None:
        requests, timeout = self._life.requests, self._config.request_timeout
        deadline = asyncio.get_running_loop().time() + timeout
        if not self._config.shutdown_send_retry_after:
            # What a connection still has is served before it closes; only then is the door of the wait group shut.
            await asyncio.gather(*(listener.drain(timeout) for listener in self._life.listeners))
        try:
            async with asyncio.timeout_at(deadline):
                await requests.wait()
        except TimeoutError:
            self._log.warning("requests_not_drained", requests=requests.count)

    async def _close_connections(self) -> None:
        if self._config.shutdown_send_retry_after:
            await asyncio.gather(*(listener.drain(SHORT_GOODBYE) for listener in self._life.listeners))
        for listener in self._life.listeners:
            if listener.connections:
                self._log.warning("connections_cut", connections=listener.connections, requests=listener.in_flight)
            listener.abort()

    async def _stop_background(self) -> None:
        self._life.stopped.set()
        self._context.cancel()

    async def _stop_audit(self) -> None:
        if self._config.audit is not None:
            await self._config.audit.stop()
