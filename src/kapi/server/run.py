"""Running a prepared server: from the listening port to the last drained request."""

from __future__ import annotations

from asyncio import Event, TaskGroup
from collections.abc import Sequence
from dataclasses import dataclass

from kapi.server.config import GenericConfig, Serving
from kapi.server.hooks import HookContext, HookFailed, PostStartHook, PreShutdownHook
from kapi.server.shutdown import Shutdown
from kapi.server.systemd import READY, notify
from kapi.wire.listener import serve
from kapi.wire.messages import Handler


@dataclass(frozen=True, slots=True, kw_only=True)
class PreparedServer:
    """A server that can run: only `prepare_run` makes one."""

    config: GenericConfig
    handler: Handler
    ports: Sequence[tuple[Serving, Handler]]
    post_start_hooks: Sequence[PostStartHook]
    pre_shutdown_hooks: Sequence[PreShutdownHook]

    async def run(self, stop: Event) -> None:
        """Serve until `stop` is set and everything has ended.

        OSError when a port cannot be listened on; HookFailed when a post-start hook failed.
        """
        life = self.config.lifecycle
        # The audit backend comes first: no request may find it missing.
        if self.config.audit is not None:
            await self.config.audit.start()
        try:
            await self._listen()
            async with TaskGroup() as group:
                context = HookContext(self.config.loopback, life.stopped, group)
                for hook in self.post_start_hooks:
                    context.spawn(hook.start(context), name=f"poststarthook/{hook.name}")
                notify(READY)
                await stop.wait()
                await Shutdown(self.config, self.pre_shutdown_hooks, context).run()
        except BaseExceptionGroup as failures:
            raise _reason(failures) from failures
        finally:
            # After a shutdown nothing is left of them; after a failure nobody is waited for.
            for listener in life.listeners:
                listener.abort()

    async def _listen(self) -> None:
        life, log = self.config.lifecycle, self.config.instruments.log
        for serving, handler in self.ports:
            listener = await serve(serving.bind, handler, log=log, tls=serving.tls, limits=serving.limits)
            life.listeners.append(listener)
            log.info("serving", host=listener.host, port=listener.port, secure=serving.tls is not None)
        life.serving.set()


def _reason(failures: BaseExceptionGroup[BaseException]) -> BaseException:
    """The first failure of a hook, or of what a hook has spawned."""
    failed, rest = failures.split(HookFailed)
    error: BaseException = failed or rest or failures
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error
