"""HTTP/1.1 to other servers: connections are kept and reused, answers are whole and of bounded size.

What goes wrong is worded as Go's client words it, since webhooks' errors are passed on to whoever made the request.
"""

from __future__ import annotations

import asyncio
import errno
import os
import re
import socket
import ssl
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias, cast
from urllib.parse import urlsplit

import httptools

from kapi.wire.messages import Headers, RawHeaders

IDLE_SECONDS = 90.0
MAX_IDLE = 32
MAX_ANSWER = 3 * 1024 * 1024

Address: TypeAlias = tuple[str, int]
# Where to connect to, when that is not what the URL says; raises CallError when there is no such place.
Resolve: TypeAlias = Callable[[], Awaitable[Address]]


class CallError(Exception):
    """The other server could not be asked, or did not answer."""


class Answer(NamedTuple):
    status: int
    headers: Headers
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Another server: `url` without a trailing slash, and what every request to it carries."""

    url: str
    tls: ssl.SSLContext | None = None  # for https
    server_name: str = ""  # the name its certificate is for, if not the URL's host
    headers: tuple[tuple[bytes, bytes], ...] = ()
    resolve: Resolve | None = field(default=None, compare=False)


def client_tls(
    ca: bytes = b"", *, insecure: bool = False, certificate: tuple[str, str] | None = None
) -> ssl.SSLContext:
    """What a server's certificate is checked with: these authorities (PEM), or the system's when there are none.

    `certificate` names the files of the client's own. Raises ssl.SSLError and OSError.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.set_alpn_protocols(["http/1.1"])
    # As Go: any certificate of the bundle is an anchor, and a common name is not a host name.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    if insecure:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif ca:
        context.load_verify_locations(cadata=ca.decode("ascii", "replace"))
    else:
        context.load_default_certs()
    if certificate is not None:
        context.load_cert_chain(*certificate)
    return context


class HTTPClient:
    """A client of one server."""

    def __init__(self, server: Server) -> None:
        parts = urlsplit(server.url)
        self._server = server
        self._secure = parts.scheme == "https"
        self._host = parts.hostname or ""
        self._port = parts.port or (443 if self._secure else 80)
        self._prefix = parts.path
        self._common = b"".join(
            b"%s: %s\r\n" % header for header in ((b"Host", parts.netloc.encode("idna")), *server.headers)
        )
        self._idle: list[_Connection] = []

    async def request(
        self,
        method: str,
        path: str,
        body: bytes = b"",
        *,
        headers: Iterable[tuple[bytes, bytes]] = (),
        timeout: float,
        limit: int = MAX_ANSWER,
    ) -> Answer:
        """Raises CallError, worded as Go's: `Post "https://…": …`."""
        try:
            async with asyncio.timeout(timeout):
                return await self._request(self._encode(method, path, body, headers), limit)
        except (CallError, OSError, TimeoutError) as error:
            wording = "context deadline exceeded" if isinstance(error, TimeoutError) else str(error)
            raise CallError(f'{method.capitalize()} "{self._server.url}{path}": {wording}') from None

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _encode(self, method: str, path: str, body: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
        head = f"{method} {self._prefix + path or '/'} HTTP/1.1\r\n".encode()
        fields = b"".join(b"%s: %s\r\n" % header for header in headers)
        length = b"Content-Length: %d\r\n" % len(body) if body or method in ("POST", "PUT", "PATCH") else b""
        return b"".join((head, self._common, fields, length, b"\r\n", body))

    async def _request(self, message: bytes, limit: int) -> Answer:
        while self._idle:
            connection = self._idle.pop()
            if connection.reusable():
                try:
                    return await self._exchange(connection, message, limit)
                except _ClosedUnanswered:
                    # It was closed while idle, and that crossed with our request: that is not the server's answer.
                    break
        try:
            return await self._exchange(await self._connect(), message, limit)
        except _ClosedUnanswered:
            raise CallError("EOF") from None

    async def _exchange(self, connection: _Connection, message: bytes, limit: int) -> Answer:
        try:
            answer = await connection.exchange(message, limit)
        except BaseException:
            connection.close()
            raise
        if connection.reusable() and len(self._idle) < MAX_IDLE:
            connection.idle_since = asyncio.get_running_loop().time()
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    async def _connect(self) -> _Connection:
        server = self._server
        host, port = await server.resolve() if server.resolve is not None else (self._host, self._port)
        loop = asyncio.get_running_loop()
        try:
            _, connection = await loop.create_connection(
                _Connection,
                host,
                port,
                ssl=server.tls if self._secure else None,
                server_hostname=(server.server_name or self._host) if self._secure else None,
            )
        except ssl.SSLError as error:
            raise CallError(_tls_problem(error)) from None
        except socket.gaierror:
            raise CallError(f"dial tcp: lookup {host}: no such host") from None
        except ConnectionResetError:
            raise CallError("EOF") from None
        except OSError as error:
            raise CallError(f"dial tcp {await _dialed(host, port)}: {_dial_problem(error)}") from None
        return connection


class _ClosedUnanswered(Exception):
    """The connection ended before the first byte of an answer."""


class _Connection(asyncio.Protocol):
    """One connection: a request, its answer, and so on, one after another."""

    def __init__(self) -> None:
        self.idle_since = 0.0
        self._transport: asyncio.Transport | None = None
        self._answer: asyncio.Future[Answer] | None = None
        self._headers: RawHeaders = []
        self._pieces: list[bytes] = []
        self._size = 0
        self._limit = MAX_ANSWER
        self._parser = httptools.HttpResponseParser(self)
        self._begun = False
        self._keep = True

    def reusable(self) -> bool:
        transport = self._transport
        if transport is None or transport.is_closing() or not self._keep:
            return False
        return self.idle_since == 0.0 or asyncio.get_running_loop().time() - self.idle_since < IDLE_SECONDS

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()

    async def exchange(self, message: bytes, limit: int) -> Answer:
        assert self._transport is not None, "the connection was made"
        self._limit, self._begun = limit, False
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(message)
        try:
            return await self._answer
        finally:
            self._answer = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's own class is none of asyncio's

    def data_received(self, data: bytes) -> None:
        if self._answer is None:
            self._keep = False
            self.close()
            return
        self._begun = True
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._fail(CallError("unexpected protocol switch"))
        except httptools.HttpParserError:
            self._fail(
                CallError(f'net/http: HTTP/1.x transport connection broken: malformed HTTP response "{_start(data)}"')
            )

    def connection_lost(self, error: Exception | None) -> None:
        self._keep = False
        if isinstance(error, ssl.SSLError):
            self._fail(CallError(_tls_problem(error)))
        elif not self._begun:
            self._fail(_ClosedUnanswered())
        elif self._answer is not None and self._parser.should_keep_alive() is False and self._headers:
            self.on_message_complete()  # a body that lasts until the connection ends
        else:
            self._fail(CallError("unexpected EOF"))

    def _fail(self, error: Exception) -> None:
        self._keep = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(error)

    # What the parser calls.

    def on_message_begin(self) -> None:
        self._headers, self._pieces, self._size = [], [], 0

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name.lower(), value))

    def on_body(self, body: bytes) -> None:
        self._size += len(body)
        if self._size > self._limit:
            self._fail(CallError("http: response body too large"))
            self.close()
        else:
            self._pieces.append(body)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if 100 <= status < 200:
            return
        self._keep = self._keep and self._parser.should_keep_alive()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(Answer(status, Headers(self._headers), b"".join(self._pieces)))


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _start(data: bytes) -> str:
    return data.split(b"\n", 1)[0].strip().decode("latin-1")


async def _dialed(host: str, port: int) -> str:
    """The first address of a host, which is the one that Go tells of."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return _joined(str(found[0][4][0]), port)


# How asyncio tells of several addresses that failed; the first counts.
_FAILED = re.compile(r"\[Errno (\d+)\] Connect call failed")


def _dial_problem(error: OSError) -> str:
    first = _FAILED.search(str(error)) if error.errno is None else None
    number = int(first[1]) if first is not None else error.errno
    if number is None:
        return f"connect: {error}"
    return f"connect: {os.strerror(number).lower()}" if number != errno.ETIMEDOUT else "i/o timeout"


_UNKNOWN_AUTHORITY = frozenset({18, 19, 20, 21})
_NAME_MISMATCH = frozenset({62, 63, 64})


def _tls_problem(error: ssl.SSLError) -> str:
    if error.reason == "WRONG_VERSION_NUMBER":
        return "http: server gave HTTP response to HTTPS client"
    if not isinstance(error, ssl.SSLCertVerificationError):
        return f"remote error: tls: {(error.reason or str(error)).lower().replace('_', ' ')}"
    if error.verify_code in _UNKNOWN_AUTHORITY:
        problem = "certificate signed by unknown authority"
    elif error.verify_code in _NAME_MISMATCH:
        problem = f"certificate is not valid for the name asked for: {error.verify_message.rstrip('.')}"
    elif error.verify_code in (9, 10):
        problem = f"certificate has expired or is not yet valid: {error.verify_message}"
    else:
        problem = error.verify_message
    return f"tls: failed to verify certificate: x509: {problem}"
