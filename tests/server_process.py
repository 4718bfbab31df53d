"""A real server in a process of its own: certificates, flags, log, and clients that speak to it over TLS."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import random
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from kapi.wire.pki import Authority

PATIENCE = 30.0
# What would change how it behaves or, for the last, make every start compile all of it again.
NOT_PASSED_ON = ("NOTIFY_SOCKET", "KUBE_API_VERSIONS", "PYTHONDONTWRITEBYTECODE")
COMMAND = (sys.executable, "-m", "kapi.cli.kube_apiserver")


class Server:
    """One kube-apiserver. It keeps its port, its certificates and its data over `stop` and `start`."""

    def __init__(self, folder: Path, *flags: str, environment: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        self.flags = flags
        self.port = free_port()
        self.url = f"https://127.0.0.1:{self.port}"
        self.authority = Authority(folder / "pki")
        self.serving = self.authority.issue_server(["localhost", "kubernetes"], ["127.0.0.1"])
        self.log: list[str] = []
        self._environment = environment or {}
        self._process: subprocess.Popen[str] | None = None
        self._changed = threading.Condition()
        self._ended = False

    @property
    def process(self) -> subprocess.Popen[str]:
        assert self._process is not None
        return self._process

    def launch(self, *more: str) -> Server:
        """Start without waiting; later flags win over earlier ones."""
        self.log, self._ended = [], False
        environment = {name: value for name, value in os.environ.items() if name not in NOT_PASSED_ON}
        self._process = subprocess.Popen(
            [*COMMAND, *self._own_flags(), *self.flags, *more],
            stderr=subprocess.PIPE,
            text=True,
            env=environment | dict(self._environment),
        )
        threading.Thread(target=self._read_log, args=(self._process,), daemon=True).start()
        return self

    def start(self, *more: str) -> Server:
        self.launch(*more)
        self.logged('"ready"')
        return self

    def logged(self, text: str, count: int = 1) -> str:
        """Wait until a line with this text has been logged so many times; that line."""

        def lines() -> list[str]:
            return [line for line in self.log if text in line]

        with self._changed:
            self._changed.wait_for(lambda: len(lines()) >= count or self._ended, PATIENCE)
            found = lines()
        assert len(found) >= count, f"never logged: {text}\n{self.said}"
        return found[count - 1]

    def send_signal(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)

    def exit_status(self) -> int:
        """Wait for its end, and for the last line of its log."""
        status = self.process.wait(PATIENCE)
        with self._changed:
            self._changed.wait_for(lambda: self._ended, PATIENCE)
        return status

    def stop(self, number: signal.Signals = signal.SIGTERM) -> int:
        self.send_signal(number)
        return self.exit_status()

    def end(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self.stop(signal.SIGKILL)

    @property
    def said(self) -> str:
        return "".join(self.log)

    def tls(self, user: str = "admin", *groups: str, alpn: str = "http/1.1") -> ssl.SSLContext:
        """What a client of that name brings along; an empty name brings no certificate."""
        context = ssl.create_default_context(cafile=str(self.authority.ensure()))
        context.set_alpn_protocols([alpn])
        if user:
            context.load_cert_chain(*self.client_pair(user, *groups))
        return context

    def client_pair(self, user: str, *groups: str) -> tuple[Path, Path]:
        member_of = ["system:masters"] if user == "admin" else list(groups)
        return self.authority.issue_client(user, member_of, pair_name=f"client-{user}")

    def client(self, user: str = "admin", *groups: str, token: str = "") -> Client:
        return Client(self.port, self.tls(user, *groups), token)

    @asynccontextmanager
    async def connected(self, context: ssl.SSLContext) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=context, limit=1 << 24)
        try:
            yield Keepalive(reader, writer)
        finally:
            writer.transport.abort()

    def kubeconfig(self) -> Path:
        """For clients that read one: the administrator's, with everything in files."""
        certificate, key = self.client_pair("admin")
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [
                {
                    "name": "test",
                    "cluster": {"server": self.url, "certificate-authority": str(self.authority.ensure())},
                }
            ],
            "users": [{"name": "admin", "user": {"client-certificate": str(certificate), "client-key": str(key)}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
        }
        path = self.folder / "kubeconfig"
        path.write_text(json.dumps(content))
        return path

    def _own_flags(self) -> list[str]:
        certificate, key = self.serving
        return [
            "--bind-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--data-dir={self.folder / 'data'}",
            f"--cert-dir={self.folder / 'certificates'}",
            f"--tls-cert-file={certificate}",
            f"--tls-private-key-file={key}",
            f"--client-ca-file={self.authority.ensure()}",
        ]

    def _read_log(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                with self._changed:
                    self.log.append(line)
                    self._changed.notify_all()
        with self._changed:
            self._ended = True
            self._changed.notify_all()


class Client:
    """Blocking HTTP/1.1 on one keep-alive connection."""

    def __init__(self, port: int, context: ssl.SSLContext | None, token: str = "") -> None:
        self._headers = {"Authorization": f"Bearer {token}"} if token else {}
        if context is None:
            self.connection = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
        else:
            self.connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=PATIENCE, context=context)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.connection.close()

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> http.client.HTTPResponse:
        """The response with its body unread."""
        content = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        given = {name.replace("_", "-"): value for name, value in headers.items()}
        if content is not None:
            given.setdefault("content-type", "application/json")
        self.connection.request(method, path, content, self._headers | given)
        return self.connection.getresponse()

    def text(self, path: str) -> tuple[int, str]:
        response = self.send("GET", path)
        return response.status, response.read().decode()

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any]:
        response = self.send(method, path, body, **headers)
        return response.status, json.loads(response.read())

    def get(self, path: str) -> Any:
        status, body = self.call("GET", path)
        assert status == 200, body
        return body

    def create(self, path: str, body: Any) -> Any:
        status, created = self.call("POST", path, body)
        assert status == 201, created
        return created


class Keepalive:
    """HTTP/1.1 on asyncio streams, for hundreds of connections at once."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.sent = 0  # requests of which at least a byte went out
        self.headers: dict[str, str] = {}

    def send(self, path: str, method: str = "GET", body: bytes = b"") -> None:
        head = f"{method} {path} HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: {len(body)}\r\n"
        head += "content-type: application/json\r\n\r\n" if body else "\r\n"
        self.sent += 1
        self.writer.write(head.encode() + body)

    async def head(self) -> int:
        lines = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        self.headers = {line.partition(":")[0].lower(): line.partition(":")[2].strip() for line in lines[1:]}
        return int(lines[0].split(" ")[1])

    async def answer(self) -> tuple[int, bytes]:
        """A whole response; IncompleteReadError when it was cut off."""
        status = await self.head()
        if self.headers.get("transfer-encoding") == "chunked":
            body = b""
            while piece := await self.chunk():
                body += piece
            return status, body
        return status, await self.reader.readexactly(int(self.headers["content-length"]))

    async def chunk(self) -> bytes:
        """One chunk of a streamed body; empty at its end."""
        size = int(await self.reader.readuntil(b"\r\n"), 16)
        return (await self.reader.readexactly(size + 2))[:-2]

    async def get(self, path: str) -> tuple[int, bytes]:
        self.send(path)
        return await self.answer()


def free_port() -> int:
    """Below the range from which the kernel gives ports to outgoing connections: none of the tests' takes it."""
    while True:
        port = random.randrange(10_000, 32_000)
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Makes (does not start) a server: `new_server("--v=1", environment={...})`."""
    made: list[Server] = []

    def make(*flags: str, environment: Mapping[str, str] | None = None) -> Server:
        folder = tmp_path / f"server{len(made)}"
        folder.mkdir()
        made.append(Server(folder, *flags, environment=environment))
        return made[-1]

    yield make
    for server in made:
        server.end()


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One for the whole run, started: use names of your own, and do not harm it."""
    server = Server(tmp_path_factory.mktemp("server"))
    try:
        yield server.start()
        assert server.stop() == 0
    finally:
        server.end()
