"""The server under measurement: a fresh kube-apiserver on the embedded store, started as anyone would."""

from __future__ import annotations

import os
import signal
import socket
import ssl
import subprocess
import sys
import time
from http.client import HTTPException, HTTPSConnection
from pathlib import Path

from kapi.wire.pki import Authority

PATIENCE = 60.0


class Target:
    """One server, its certificates and its data in a folder; every start is on the same data."""

    def __init__(self, folder: Path, **flags: str) -> None:
        self._folder = folder
        self._flags = {name.replace("_", "-"): value for name, value in flags.items()}
        self._authority = Authority(folder / "pki")
        self._serving = self._authority.issue_server(["localhost"], ["127.0.0.1"])
        self._process: subprocess.Popen[bytes] | None = None
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])

    def start(self) -> float:
        """Seconds from exec until /readyz said ok."""
        certificate, key = self._serving
        flags = {
            "bind-address": "127.0.0.1",
            "secure-port": self.port,
            "data-dir": self._folder / "data",
            "tls-cert-file": certificate,
            "tls-private-key-file": key,
            "client-ca-file": self._authority.ensure(),
            **self._flags,
        }
        command = [str(Path(sys.executable).with_name("kube-apiserver")), *(f"--{n}={v}" for n, v in flags.items())]
        context = self.context()
        began = time.perf_counter()
        with (self._folder / "log").open("ab") as log:
            self._process = subprocess.Popen(command, stderr=log)
        while not self._ready(context):
            if time.perf_counter() - began > PATIENCE or self._process.poll() is not None:
                sys.exit(f"the server did not start:\n{(self._folder / 'log').read_text()[-2000:]}")
            time.sleep(0.002)
        return time.perf_counter() - began

    def stop(self) -> float:
        """Seconds that a graceful stop took."""
        assert self._process is not None
        began = time.perf_counter()
        self._process.send_signal(signal.SIGTERM)
        self._process.wait(PATIENCE)
        return time.perf_counter() - began

    def context(self, user: str = "benchmark", group: str = "system:masters") -> ssl.SSLContext:
        """A client's side of TLS: the administrator's, or that of whoever is named."""
        context = ssl.create_default_context(cafile=str(self._authority.ensure()))
        context.load_cert_chain(*self._authority.issue_client(user, [group], pair_name=f"client-{user}"))
        return context

    def metric(self, name: str) -> float:
        """One of the server's own figures: CPU seconds and memory are read this way on every system."""
        status, text = self._get(self.context(), "/metrics")
        assert status == 200
        return next(float(line.rsplit(" ", 1)[1]) for line in text.splitlines() if line.startswith(f"{name} "))

    def cpu_seconds(self) -> float:
        assert self._process is not None
        threads = Path(f"/proc/{self._process.pid}/task")
        if not threads.exists():
            return self.metric("process_cpu_seconds_total")
        # In nanoseconds, where the metric counts in hundredths of a second.
        times = [(threads / thread / "schedstat").read_text() for thread in os.listdir(threads)]
        return sum(int(time.split()[0]) for time in times) / 1e9

    def _ready(self, context: ssl.SSLContext) -> bool:
        try:
            return self._get(context, "/readyz")[0] == 200
        except (OSError, HTTPException):
            return False

    def _get(self, context: ssl.SSLContext, path: str) -> tuple[int, str]:
        connection = HTTPSConnection("127.0.0.1", self.port, context=context, timeout=PATIENCE)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()
