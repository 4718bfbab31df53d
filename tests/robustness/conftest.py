"""Real server processes that are killed and started again, and clients that write down what they were told."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from dataclasses import dataclass, field
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

START_SECONDS = 30
TOKEN = "robust"
READY = '] "ready"'
LONG = os.environ.get("KAPI_LONG") == "1"


class Server:
    """One kube-apiserver process. It keeps its port and its data over `kill` and `start`."""

    def __init__(self, folder: Path, *flags: str) -> None:
        self.folder = folder
        self.port = free_port()
        self.flags = flags
        self.process: subprocess.Popen[str] | None = None
        self.log: list[str] = []
        self._told = threading.Event()  # that it is ready, or has ended
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "tokens.csv").write_text(f'{TOKEN},admin,admin,"system:masters"\n')

    def start(self) -> Server:
        self.launch()
        return self.wait()

    def launch(self) -> None:
        self.log, self._told = [], threading.Event()
        arguments = [
            "--bind-address=127.0.0.1",
            "--advertise-address=127.0.0.1",
            f"--secure-port={self.port}",
            f"--data-dir={self.folder / 'data'}",
            f"--cert-dir={self.folder / 'pki'}",
            f"--token-auth-file={self.folder / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            *self.flags,
        ]
        self.process = subprocess.Popen(
            [sys.executable, "-m", "kapi.cli.kube_apiserver", *arguments],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
        )
        threading.Thread(target=self._read_log, args=(self.process, self.log, self._told), daemon=True).start()

    def wait(self) -> Server:
        if not self._told.wait(START_SECONDS) or not any(READY in line for line in self.log):
            raise RuntimeError("the server did not start:\n" + "".join(self.log[-20:]))
        return self

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait()
            self.process = None

    @property
    def alive(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def memory(self) -> int:
        """Resident bytes."""
        assert self.process is not None
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        return int(text.partition("VmRSS:")[2].split()[0]) * 1024

    @staticmethod
    def _read_log(process: subprocess.Popen[str], log: list[str], told: threading.Event) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                log.append(line)
                if READY in line:
                    told.set()
        told.set()


class Gone(ConnectionError):
    """The connection broke before the answer was whole: nobody knows what happened."""


@dataclass
class Answer:
    status: int
    headers: dict[str, str]
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    body: bytes = b""

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    async def chunks(self) -> AsyncIterator[bytes]:
        while True:
            size = int(await read_line(self.reader), 16)
            data = await read_exactly(self.reader, size + 2)
            if not size:
                return
            yield data[:-2]

    async def events(self) -> AsyncIterator[dict[str, Any]]:
        """A watch's events, until it ends in order; Gone when it breaks."""
        rest = b""
        async for chunk in self.chunks():
            *lines, rest = (rest + chunk).split(b"\n")
            for line in lines:
                yield json.loads(line)

    def close(self) -> None:
        self.writer.transport.abort()


async def read_line(reader: asyncio.StreamReader) -> bytes:
    try:
        line = await reader.readline()
    except (OSError, ssl.SSLError) as error:
        raise Gone(str(error)) from error
    if not line.endswith(b"\n"):
        raise Gone("the connection ended")
    return line.strip()


async def read_exactly(reader: asyncio.StreamReader, size: int) -> bytes:
    try:
        return await reader.readexactly(size)
    except (OSError, ssl.SSLError, asyncio.IncompleteReadError) as error:
        raise Gone(str(error)) from error


@dataclass
class Client:
    """HTTP/1.1 over TLS, one request at a time on a connection that is kept."""

    port: int
    connection: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None
    opened: list[asyncio.StreamWriter] = field(default_factory=list)
    context: ssl.SSLContext = field(default_factory=lambda: trusting())

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port, ssl=self.context, limit=1 << 24)
        self.opened.append(writer)
        return reader, writer

    async def request(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        """An OSError when there is no connection: nothing was sent. Gone: nobody knows."""
        if self.connection is None:
            self.connection = await self.connect()
        reader, writer = self.connection
        try:
            answer = await self.exchange(reader, writer, method, path, body, headers)
            if method == "HEAD" or answer.status in (204, 304):
                pass
            elif answer.headers.get("transfer-encoding") == "chunked":
                answer.body = b"".join([chunk async for chunk in answer.chunks()])
            else:
                answer.body = await read_exactly(reader, int(answer.headers.get("content-length", 0)))
        except BaseException:
            self.close()
            raise
        if answer.headers.get("connection") == "close":
            self.close()
        return answer

    async def stream(self, path: str, **headers: str) -> Answer:
        """A request on a connection of its own, its body still to be read."""
        reader, writer = await self.connect()
        try:
            return await self.exchange(reader, writer, "GET", path, None, headers)
        except BaseException:
            writer.transport.abort()
            raise

    async def exchange(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        method: str,
        path: str,
        body: Any,
        headers: dict[str, str],
    ) -> Answer:
        data = body if isinstance(body, bytes) else b"" if body is None else json.dumps(body).encode()
        given = {"content-type": "application/json"} | {k.replace("_", "-"): v for k, v in headers.items()}
        lines = [f"{method} {path} HTTP/1.1", "host: robust", f"authorization: Bearer {TOKEN}"]
        lines += [f"{name}: {value}" for name, value in given.items()]
        writer.write("\r\n".join([*lines, f"content-length: {len(data)}", "", ""]).encode() + data)
        status = int((await read_line(reader)).split()[1])
        found = {}
        while line := await read_line(reader):
            name, _, value = line.decode().partition(":")
            found[name.lower()] = value.strip()
        return Answer(status, found, reader, writer)

    def close(self) -> None:
        if self.connection is not None:
            self.connection[1].transport.abort()
            self.connection = None


def trusting() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


@pytest.fixture(scope="session")
def history() -> ModuleType:
    """The checker: a module beside this one, which tests cannot import by name."""
    spec = spec_from_file_location("history", Path(__file__).with_name("history.py"))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    sys.modules["history"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def new_server(tmp_path: Path) -> Iterator[Callable[..., Server]]:
    """Makes (does not start) a server: `new_server("--watch-cache=false")`."""
    made: list[Server] = []

    def make(*flags: str) -> Server:
        made.append(Server(tmp_path / f"server{len(made)}", *flags))
        return made[-1]

    yield make
    for server in made:
        server.kill()


class Clients:
    """Makes clients, and closes all their connections in the end."""

    def __init__(self) -> None:
        self.made: list[Client] = []

    def __call__(self, port: int) -> Client:
        self.made.append(Client(port))
        return self.made[-1]

    def run(self, play: Callable[[], Coroutine[Any, Any, None]]) -> None:
        async def whole() -> None:
            try:
                await play()
            finally:
                writers = [writer for client in self.made for writer in client.opened]
                for writer in writers:
                    writer.transport.abort()
                await asyncio.gather(*(writer.wait_closed() for writer in writers), return_exceptions=True)

        asyncio.run(whole())


@pytest.fixture
def new_client() -> Clients:
    return Clients()


@pytest.fixture
def gone() -> type[Gone]:
    return Gone


@pytest.fixture
def long() -> bool:
    """KAPI_LONG=1 asks for the longer mode."""
    return LONG
