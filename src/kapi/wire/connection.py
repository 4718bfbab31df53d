"""The part of a connection that HTTP/1.1 and HTTP/2 share: transport, peer, backpressure, stalled clients."""

from __future__ import annotations

import _ssl
import asyncio
from typing import Any, cast

from kapi.wire.messages import ClientGone
from kapi.wire.service import Service

WRITE_HIGH, WRITE_LOW = 512 * 1024, 128 * 1024


class BaseConnection(asyncio.Protocol):
    """An accepted connection. `writable` is false while the transport's buffer is full."""

    transport: asyncio.Transport

    def __init__(self, service: Service) -> None:
        self.service = service
        self.remote: tuple[str, int] = ("", 0)
        self.secure = False
        self.identity: Any = None
        self.lost = False
        self.writable = True
        self._writers: list[asyncio.Future[None]] = []
        self._reading = True
        self._stalled_size = 0
        self._stalled_since = 0.0

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.transport.set_write_buffer_limits(high=WRITE_HIGH, low=WRITE_LOW)
        peer = transport.get_extra_info("peername")
        if isinstance(peer, tuple):
            self.remote = (peer[0], peer[1])
        self.secure = transport.get_extra_info("ssl_object") is not None
        self.service.connections.add(self)
        if self.service.draining:
            self.service.loop.call_soon(self.go_away)

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost = True
        self.service.disconnected(self)
        self._wake_writers()

    def peer_certificate(self) -> bytes | None:
        tls = self.transport.get_extra_info("ssl_object")
        return None if tls is None else tls.getpeercert(True)

    def peer_intermediates(self) -> list[bytes]:
        """Python 3.13 has a public name for this; until then it is the ssl module's own."""
        tls = self.transport.get_extra_info("ssl_object")
        chain = tls._sslobj.get_unverified_chain() if tls is not None else None
        return [certificate.public_bytes(_ssl.ENCODING_DER) for certificate in (chain or ())[1:]]

    def go_away(self) -> None:
        raise NotImplementedError

    def abort(self) -> None:
        self.transport.abort()

    def pause_writing(self) -> None:
        self.writable = False
        self._stalled_size = self.transport.get_write_buffer_size()
        self._stalled_since = self.service.now

    def resume_writing(self) -> None:
        self.writable = True
        self._wake_writers()

    async def wait_writable(self) -> None:
        """Return when the transport takes more; raise ClientGone when it never will."""
        while not self.writable and not self.lost:
            writer: asyncio.Future[None] = self.service.loop.create_future()
            self._writers.append(writer)
            await writer
        if self.lost:
            raise ClientGone("the client closed the connection")

    def stop_reading(self) -> None:
        if self._reading and not self.lost:
            self._reading = False
            self.transport.pause_reading()

    def start_reading(self) -> None:
        if not self._reading and not self.lost:
            self._reading = True
            self.transport.resume_reading()

    def check(self, now: float) -> None:
        """A client that took no byte of a full buffer for the stall timeout is gone."""
        if self.writable:
            return
        size = self.transport.get_write_buffer_size()
        if size != self._stalled_size:
            self._stalled_size = size
            self._stalled_since = now
        elif now - self._stalled_since > self.service.limits.stall_timeout:
            self.abort()

    def _wake_writers(self) -> None:
        writers, self._writers = self._writers, []
        for writer in writers:
            if not writer.done():
                writer.set_result(None)
