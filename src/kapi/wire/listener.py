"""Listener: accepts connections and serves them until it is told to stop.

Once a second it looks over its connections (overdue ones are closed) and its certificate files (changed ones are
loaded); there are no timers per request.
"""

from __future__ import annotations

import asyncio
import socket
from typing import Any

from kapi.wire.bind import BACKLOG, Bind, keep_alive
from kapi.wire.dispatch import Dispatch
from kapi.wire.framing import ErrorLog
from kapi.wire.limits import Limits
from kapi.wire.messages import Handler
from kapi.wire.service import Service
from kapi.wire.tls import ServerTLS, TLSConfig

_SWEEP = 1.0
_TLS_GOODBYE = 2.0  # how long a peer may take to answer our close_notify


async def serve(
    bind: Bind | socket.socket,
    handler: Handler,
    *,
    log: ErrorLog,
    tls: TLSConfig | None = None,
    limits: Limits | None = None,
) -> Listener:
    """Listen and serve. An already bound socket is taken as it is; OSError when the address cannot be had."""
    service = Service(handler, limits or Limits(), log)
    offered = ["http/1.1"] if service.limits.disable_http2 else ["h2", "http/1.1"]
    server_tls = None if tls is None else ServerTLS(tls, offered, log)
    if isinstance(bind, socket.socket):
        listening = bind
        listening.setblocking(False)
        keep_alive(listening)
    else:
        listening = bind.open()
    try:
        options: dict[str, Any] = {}
        if server_tls is not None:
            options["ssl"] = server_tls.context
            options["ssl_handshake_timeout"] = service.limits.header_timeout
            options["ssl_shutdown_timeout"] = _TLS_GOODBYE
        server = await service.loop.create_server(lambda: Dispatch(service), sock=listening, backlog=BACKLOG, **options)
    except BaseException:
        listening.close()
        raise
    return Listener(service, server, server_tls)


class Listener:
    """What `serve` returns."""

    def __init__(self, service: Service, server: asyncio.Server, tls: ServerTLS | None) -> None:
        self._service = service
        self._server = server
        self._tls = tls
        address = server.sockets[0].getsockname()
        self.host: str = address[0]
        self.port: int = address[1]
        self._timer = service.loop.call_later(_SWEEP, self._sweep)

    @property
    def connections(self) -> int:
        return len(self._service.connections)

    @property
    def in_flight(self) -> int:
        """Requests whose handler is at work."""
        return len(self._service.in_flight)

    def reload(self) -> bool:
        """Load certificate files that changed, at once; true when the new ones are in use."""
        return self._tls is not None and self._tls.reload()

    def close(self) -> None:
        """Accept no more connections; those there are go on."""
        self._server.close()

    async def drain(self, timeout: float) -> bool:
        """Finish what is under way and close; false when the time was too short."""
        service = self._service
        self.close()
        service.draining = True
        for connection in list(service.connections):
            connection.go_away()
        try:
            async with asyncio.timeout(timeout):
                while service.connections or service.in_flight:
                    service.changed.clear()
                    await service.changed.wait()
        except TimeoutError:
            return False
        self._timer.cancel()
        return True

    def abort(self) -> None:
        """Close every connection now and cancel the handlers that are still at work."""
        self.close()
        self._timer.cancel()
        self._service.draining = True
        for connection in list(self._service.connections):
            connection.abort()
        for request in list(self._service.in_flight):
            if request.task is not None:
                # Not at once: a task cancelled before its first step never gets to say that it ended.
                self._service.loop.call_soon(request.task.cancel)

    def _sweep(self) -> None:
        service = self._service
        service.tick()
        for connection in list(service.connections):
            connection.check(service.now)
        if self._tls is not None:
            self._tls.reload_if_touched()
        self._timer = service.loop.call_later(_SWEEP, self._sweep)
