"""From exec to ready, and every way in which a start fails."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.server_process import COMMAND, Server, free_port

NewServer = Callable[..., Server]


def test_the_version_is_logged_first_and_flags_from_verbosity_one(new_server: NewServer) -> None:
    quiet = new_server().start()
    assert '"Version" version="v1.37.0"' in quiet.log[0]
    assert "FLAG:" not in quiet.said
    assert quiet.stop() == 0

    talkative = new_server("-v=1").start()
    assert '"Version" version="v1.37.0"' in talkative.log[0]
    assert f"FLAG: --secure-port={talkative.port}" in talkative.said
    assert "FLAG: --watch-cache=true" in talkative.said
    assert talkative.stop() == 0


def test_readiness_waits_for_every_post_start_hook(new_server: NewServer) -> None:
    server = new_server().start()
    with server.client() as client:
        status, verbose = client.text("/readyz?verbose")
    assert status == 200
    for check in ("etcd", "poststarthook/start-system-namespaces-controller", "shutdown"):
        assert f"[+]{check} ok\n" in verbose
    with server.client() as client:
        names = [item["metadata"]["name"] for item in client.get("/api/v1/namespaces")["items"]]
    assert names == ["default", "kube-node-lease", "kube-public", "kube-system"]


def test_systemd_hears_when_it_is_ready_and_when_it_stops(new_server: NewServer, tmp_path: Path) -> None:
    address = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(address))
        systemd.settimeout(20)
        server = new_server(environment={"NOTIFY_SOCKET": str(address)}).launch()
        assert systemd.recv(100) == b"READY=1"
        server.logged('"ready"')
        server.send_signal()
        assert systemd.recv(100) == b"STOPPING=1"
        assert server.exit_status() == 0


def test_bad_flags_are_all_told_at_once(new_server: NewServer) -> None:
    server = new_server("--secure-port=70000", "--max-requests-inflight=-1", "--tls-min-version=VersionTLS9").launch()
    assert server.exit_status() == 1
    errors = [line for line in server.log if line.startswith("Error: ")]
    assert len(errors) >= 3
    for flag in ("--secure-port", "--max-requests-inflight", "TLS9"):
        assert flag in server.said


def test_a_taken_port_is_an_error_that_names_it(new_server: NewServer) -> None:
    server = new_server()
    with socket.create_server(("127.0.0.1", server.port)):
        assert server.launch().exit_status() == 1
    assert server.log[-1] == f"Error: cannot listen on 127.0.0.1:{server.port}: the port is taken\n"
    assert "Traceback" not in server.said


def test_a_data_directory_has_one_owner(new_server: NewServer) -> None:
    first, second = new_server().start(), new_server()
    second.launch(f"--data-dir={first.folder / 'data'}")
    assert second.exit_status() == 1
    assert f"is in use by process {first.process.pid}" in second.log[-1]
    with first.client() as client:
        assert client.text("/readyz") == (200, "ok")


@pytest.mark.parametrize(
    ("flag", "content", "message"),
    [
        ("--tls-cert-file", None, "no such file or directory"),
        ("--tls-cert-file", b"not a certificate", "not a PEM certificate and key"),
        ("--client-ca-file", b"nobody", "holds no valid certificate"),
        ("--client-ca-file", None, "no such file or directory"),
        ("--token-auth-file", b"a,b", "at least 3 columns"),
    ],
)
def test_a_file_that_cannot_be_used_is_named(
    new_server: NewServer, tmp_path: Path, flag: str, content: bytes | None, message: str
) -> None:
    file = tmp_path / "bad"
    if content is not None:
        file.write_bytes(content)
    server = new_server().launch(f"{flag}={file}")
    assert server.exit_status() == 1
    assert server.log[-1].startswith("Error: ")
    assert message in server.log[-1]
    assert str(file) in server.log[-1]
    assert "Traceback" not in server.said


def test_etcd_that_is_not_there_is_waited_for_and_then_an_error(new_server: NewServer) -> None:
    port = free_port()
    server = new_server(f"--etcd-servers=http://127.0.0.1:{port}", "--storage-initialization-timeout=1500ms")
    began = time.monotonic()
    assert server.launch().exit_status() == 1
    assert time.monotonic() - began < 10
    assert '"etcd_waiting" attempt=1' in server.said
    assert "Error: etcd not there" in server.log[-1]
    assert f"http://127.0.0.1:{port}" in server.log[-1]
    assert "Traceback" not in server.said


def test_it_can_be_stopped_while_it_waits_for_etcd(new_server: NewServer) -> None:
    server = new_server(f"--etcd-servers=http://127.0.0.1:{free_port()}").launch()
    server.logged("etcd_waiting")
    assert server.stop(signal.SIGINT) == 0


def test_with_kube_api_versions_there_is_no_aggregator(new_server: NewServer) -> None:
    with_it = new_server().start()
    without = new_server(environment={"KUBE_API_VERSIONS": "v1"}).start()
    for server, served in ((with_it, True), (without, False)):
        with server.client() as client:
            groups = [group["name"] for group in client.get("/apis")["groups"]]
            assert ("apiregistration.k8s.io" in groups) is served
            assert "apiextensions.k8s.io" in groups
            status, _ = client.text("/apis/apiregistration.k8s.io/v1")
            assert status == (200 if served else 404)


def test_without_certificates_it_makes_its_own(tmp_path: Path) -> None:
    """No flag but those that keep it from the defaults of this machine."""
    flags = ["--bind-address=127.0.0.1", f"--secure-port={free_port()}", f"--cert-dir={tmp_path / 'c'}"]
    environment = os.environ | {"XDG_DATA_HOME": str(tmp_path / "data")}
    process = subprocess.Popen([*COMMAND, *flags], stderr=subprocess.PIPE, text=True, env=environment)
    assert process.stderr is not None
    with process, process.stderr:
        for line in process.stderr:
            if '"ready"' in line:
                process.terminate()
        assert process.wait(20) == 0
    assert sorted(path.name for path in (tmp_path / "c").iterdir()) == ["apiserver.crt", "apiserver.key"]
    assert (tmp_path / "data" / "kapi" / "kapi.db").exists()
