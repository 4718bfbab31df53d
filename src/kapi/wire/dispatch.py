"""Which protocol a new connection speaks: ALPN says it under TLS, the first bytes say it in cleartext."""

from __future__ import annotations

import asyncio
from typing import cast

from kapi.wire.connection import BaseConnection
from kapi.wire.h1.connection import H1Connection
from kapi.wire.h2.connection import H2Connection
from kapi.wire.h2.frames import PREFACE
from kapi.wire.service import Service


class Dispatch(asyncio.Protocol):
    """The protocol of a connection until it is known."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._transport: asyncio.Transport | None = None
        self._first = b""
        self._deadline = service.now + service.limits.header_timeout

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        tls = transport.get_extra_info("ssl_object")
        if tls is not None:
            self._become(H2Connection if tls.selected_alpn_protocol() == "h2" else H1Connection)
        elif self._service.limits.disable_http2:
            self._become(H1Connection)
        else:
            self._service.connections.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self._service.disconnected(self)

    def data_received(self, data: bytes) -> None:
        self._first += data
        if PREFACE.startswith(self._first) and len(self._first) < len(PREFACE):
            return
        self._service.connections.discard(self)
        self._become(H2Connection if self._first.startswith(PREFACE) else H1Connection).data_received(self._first)

    def go_away(self) -> None:
        self.abort()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def check(self, now: float) -> None:
        if now > self._deadline:
            self.abort()

    def _become(self, kind: type[H1Connection] | type[H2Connection]) -> BaseConnection:
        assert self._transport is not None
        connection = kind(self._service)
        self._transport.set_protocol(connection)
        connection.connection_made(self._transport)
        return connection
