"""Bind: a listening socket from an address. A port already taken is an OSError, as the kernel reports it,
whose `filename` says which."""

from __future__ import annotations

import socket
import sys
from dataclasses import dataclass

BACKLOG = 4096
_KEEPALIVE_IDLE, _KEEPALIVE_INTERVAL, _KEEPALIVE_COUNT = 15, 15, 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Bind:
    """Where to listen. Port 0 takes a free one."""

    host: str
    port: int
    permit_port_sharing: bool = False  # SO_REUSEPORT: several processes on one port
    permit_address_sharing: bool = False  # SO_REUSEADDR also where it is not the default

    def open(self) -> socket.socket:
        found = socket.getaddrinfo(self.host or None, self.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, kind, proto, _, address = found[0]
        listening = socket.socket(family, kind, proto)
        try:
            self._configure(listening, family)
            listening.bind(address)
            listening.listen(BACKLOG)
        except OSError as error:
            listening.close()
            error.filename = f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"
            raise
        return listening

    def _configure(self, listening: socket.socket, family: int) -> None:
        listening.setblocking(False)
        # Windows gives SO_REUSEADDR a meaning that lets others steal the port; elsewhere it only skips TIME_WAIT.
        if self.permit_address_sharing or sys.platform != "win32":
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if self.permit_port_sharing:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
        if family == socket.AF_INET6:
            listening.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        keep_alive(listening)


def keep_alive(listening: socket.socket) -> None:
    """Accepted sockets inherit these: a peer that vanished is noticed after some minutes, as with Go's listener."""
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    if sys.platform == "linux":
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, _KEEPALIVE_IDLE)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, _KEEPALIVE_INTERVAL)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, _KEEPALIVE_COUNT)
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
