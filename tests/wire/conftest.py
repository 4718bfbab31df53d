"""Real listeners and raw clients: tests speak bytes over sockets, on both event loops."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import ipaddress
import itertools
import ssl
import struct
from collections.abc import AsyncIterator, Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID
from jh2._hazmat import Decoder, Encoder

from kapi.wire.bind import Bind
from kapi.wire.limits import Limits
from kapi.wire.listener import Listener, serve
from kapi.wire.loop import new_event_loop
from kapi.wire.messages import Handler, Request, Response
from kapi.wire.tls import TLSConfig

PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"


class RecordedLog:
    def __init__(self) -> None:
        self.events: list[tuple[str, dict[str, Any]]] = []

    def error(self, event: str, **fields: Any) -> None:
        self.events.append((event, fields))


class Authority:
    """A certificate authority in a directory."""

    def __init__(self, directory: Path, name: str) -> None:
        self._directory = directory
        self._serial = itertools.count(1)
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        self.certificate = (
            x509.CertificateBuilder()
            .subject_name(self._name)
            .issuer_name(self._name)
            .public_key(self._key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .sign(self._key, hashes.SHA256())
        )
        self.file = directory / f"{name}-ca.crt"
        self.file.write_bytes(self.certificate.public_bytes(serialization.Encoding.PEM))

    def issue(self, common_name: str, *names: str, client: bool = False) -> tuple[Path, Path]:
        key = ec.generate_private_key(ec.SECP256R1())
        now = datetime.datetime.now(datetime.UTC)
        usage = ExtendedKeyUsageOID.CLIENT_AUTH if client else ExtendedKeyUsageOID.SERVER_AUTH
        builder = (
            x509.CertificateBuilder()
            .subject_name(x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, common_name)]))
            .issuer_name(self._name)
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(hours=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        )
        if names:
            builder = builder.add_extension(
                x509.SubjectAlternativeName(
                    [
                        x509.IPAddress(ipaddress.ip_address(name)) if name[0].isdigit() else x509.DNSName(name)
                        for name in names
                    ]
                ),
                critical=False,
            )
        certificate = builder.sign(self._key, hashes.SHA256())
        stem = self._directory / f"{next(self._serial)}-{common_name.replace('*', 'any')}"
        cert_file, key_file = stem.with_suffix(".crt"), stem.with_suffix(".key")
        cert_file.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
        key_file.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
            )
        )
        return cert_file, key_file


class RawH1:
    """An HTTP/1.1 client that sends what it is told, byte by byte if need be."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def head(self) -> tuple[int, dict[str, str], list[str]]:
        """(status, headers by lower-case name, header lines as sent)."""
        raw = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1")
        lines = raw[:-4].split("\r\n")
        headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines[1:]}
        return int(lines[0].split(" ")[1]), headers, lines[1:]

    async def response(self, *, has_body: bool = True) -> tuple[int, dict[str, str], bytes]:
        status, headers, _ = await self.head()
        if not has_body:
            return status, headers, b""
        if headers.get("transfer-encoding") == "chunked":
            return status, headers, await self.chunks()
        if "content-length" in headers:
            return status, headers, await self.reader.readexactly(int(headers["content-length"]))
        return status, headers, await self.reader.read()

    async def chunk(self) -> bytes:
        size = int((await self.reader.readuntil(b"\r\n")).strip(), 16)
        data = await self.reader.readexactly(size)
        assert await self.reader.readexactly(2) == b"\r\n"
        return data

    async def chunks(self) -> bytes:
        body = b""
        while piece := await self.chunk():
            body += piece
        return body

    async def get(self, path: str = "/", extra: str = "") -> tuple[int, dict[str, str], bytes]:
        self.send(f"GET {path} HTTP/1.1\r\nHost: test\r\n{extra}\r\n".encode())
        return await self.response()


class RawH2:
    """An HTTP/2 client that sends frames and reads frames, with no opinion about either."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader = reader
        self.writer = writer
        self.encoder = Encoder()
        self.decoder = Decoder(1 << 24)

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    def frame(self, kind: int, flags: int, sid: int, payload: bytes = b"") -> None:
        self.writer.write(struct.pack(">I", len(payload))[1:] + struct.pack(">BBI", kind, flags, sid) + payload)

    async def greet(self, settings: bytes = b"") -> None:
        self.send(PREFACE)
        self.frame(4, 0, 0, settings)
        while (await self.read())[0] != 4:
            pass
        self.frame(4, 1, 0)

    async def read(self) -> tuple[int, int, int, bytes]:
        """(type, flags, stream, payload); raises IncompleteReadError when the connection ended."""
        head = await self.reader.readexactly(9)
        payload = await self.reader.readexactly(int.from_bytes(head[:3], "big"))
        return head[3], head[4], int.from_bytes(head[5:], "big"), payload

    async def read_until(self, *kinds: int) -> tuple[int, int, int, bytes]:
        while (frame := await self.read())[0] not in kinds:
            pass
        return frame

    def block(self, *fields: tuple[str, str]) -> bytes:
        return bytes(self.encoder.encode([(name.encode(), value.encode(), False) for name, value in fields]))

    def request_block(self, method: str = "GET", path: str = "/", *extra: tuple[str, str]) -> bytes:
        return self.block((":method", method), (":scheme", "https"), (":path", path), (":authority", "test"), *extra)

    def request(
        self, sid: int, method: str = "GET", path: str = "/", *extra: tuple[str, str], end: bool = True
    ) -> None:
        self.frame(1, 5 if end else 4, sid, self.request_block(method, path, *extra))

    def headers(self, payload: bytes) -> dict[str, str]:
        return {name.decode(): value.decode() for name, value, _ in self.decoder.decode(payload, True)}

    async def response(self, sid: int) -> tuple[int, dict[str, str], bytes]:
        """The whole answer on that stream; frames of others are dropped."""
        headers: dict[str, str] = {}
        body = b""
        while True:
            kind, flags, stream, payload = await self.read()
            if kind == 1:
                fields = self.headers(payload)
                headers = fields if stream == sid else headers
            elif kind == 3 and stream == sid:
                raise ConnectionResetError(int.from_bytes(payload, "big"))
            elif kind == 0 and stream == sid:
                body += payload
            if stream == sid and kind in (0, 1) and flags & 1:
                return int(headers[":status"]), headers, body

    async def settle(self) -> None:
        """Return when the server has dealt with everything sent so far."""
        self.frame(6, 0, 0, b"settled?")
        while True:
            kind, flags, _, payload = await self.read()
            if kind == 6 and flags & 1 and payload == b"settled?":
                return

    async def ending(self) -> int | None:
        """The code of GOAWAY with which the connection ended; None when it ended without one."""
        code = None
        with contextlib.suppress(asyncio.IncompleteReadError, ConnectionError):
            while True:
                kind, _, _, payload = await self.read()
                if kind == 7:
                    code = int.from_bytes(payload[4:8], "big")
        return code


class World:
    """What a test needs: listeners, clients, certificates."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.authority = Authority(directory, "trusted")
        self.cert, self.key = self.authority.issue("localhost", "localhost", "127.0.0.1")
        self.log = RecordedLog()

    def tls(self, **changes: Any) -> TLSConfig:
        return TLSConfig(**{"cert_file": str(self.cert), "key_file": str(self.key), **changes})

    @contextlib.asynccontextmanager
    async def serving(
        self, handler: Handler | None = None, *, tls: TLSConfig | None = None, limits: Limits | None = None
    ) -> AsyncIterator[Listener]:
        listener = await serve(
            Bind(host="127.0.0.1", port=0), handler or echo, log=self.log, tls=tls, limits=limits or Limits()
        )
        try:
            yield listener
        finally:
            listener.abort()
            while listener.connections or listener.in_flight:
                await asyncio.sleep(0)

    def client_context(self, *alpn: str, ca: Path | None = None) -> ssl.SSLContext:
        context = ssl.create_default_context(cafile=str(ca or self.authority.file))
        if alpn:
            context.set_alpn_protocols(list(alpn))
        return context

    @contextlib.asynccontextmanager
    async def h1(self, listener: Listener, **options: Any) -> AsyncIterator[RawH1]:
        async with self._connected(listener, **options) as streams:
            yield RawH1(*streams)

    @contextlib.asynccontextmanager
    async def h2(self, listener: Listener, *, greet: bool = True, **options: Any) -> AsyncIterator[RawH2]:
        async with self._connected(listener, **options) as streams:
            client = RawH2(*streams)
            if greet:
                await client.greet()
            yield client

    @contextlib.asynccontextmanager
    async def _connected(
        self, listener: Listener, **options: Any
    ) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
        reader, writer = await asyncio.open_connection("127.0.0.1", listener.port, limit=1 << 24, **options)
        try:
            yield reader, writer
        finally:
            writer.transport.abort()
            with contextlib.suppress(OSError, TimeoutError):
                await writer.wait_closed()


async def echo(request: Request) -> Response:
    """Answers with what it saw."""
    body = await request.body(1 << 20)
    seen = f"{request.method} {request.path}?{request.query} {request.headers.get('host')} {request.protocol} "
    return Response(200, [(b"content-type", b"text/plain"), (b"audit-id", b"1")], seen.encode() + body)


@pytest.fixture(params=["uvloop", "asyncio"])
def run(request: pytest.FixtureRequest) -> Callable[[Coroutine[Any, Any, Any]], Any]:
    """Runs a coroutine to its end, within half a minute."""
    if request.param == "uvloop":
        pytest.importorskip("uvloop")
    factory = new_event_loop if request.param == "uvloop" else asyncio.new_event_loop

    def run_to_end(main: Coroutine[Any, Any, Any]) -> Any:
        with asyncio.Runner(loop_factory=factory) as runner:
            return runner.run(asyncio.wait_for(main, 30))

    return run_to_end


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path)
