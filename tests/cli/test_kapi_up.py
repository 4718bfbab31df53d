"""`kapi up` to `kapi down`: real processes, real TLS, a data directory of their own."""

from __future__ import annotations

import base64
import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
import yaml

KAPI = (sys.executable, "-m", "kapi.cli.kapi")


class Machine:
    """A user's home directory, and the commands typed there."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.data = directory / "data" / "kapi"
        self.first_line = ""
        self.processes: list[subprocess.Popen[str]] = []
        self.environment = {
            **{name: value for name, value in os.environ.items() if name != "KUBECONFIG"},
            "HOME": str(directory),
            "XDG_DATA_HOME": str(directory / "data"),
        }

    def run(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([*KAPI, *arguments], capture_output=True, text=True, env=self.environment, timeout=60)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        """`kapi up` in the foreground, ready when this returns."""
        process = subprocess.Popen(
            [*KAPI, "up", "--port", "0", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.environment,
        )
        self.processes.append(process)
        assert process.stdout is not None
        self.first_line = process.stdout.readline()
        return process


@pytest.fixture
def machine(tmp_path: Path) -> Iterator[Machine]:
    machine = Machine(tmp_path)
    yield machine
    machine.run("down")
    for process in machine.processes:
        process.kill()
        process.communicate()


def get(config: Path, path: str) -> tuple[int, str]:
    """A request with everything taken from the kubeconfig, as a client would."""
    content = yaml.safe_load(config.read_text())
    cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
    context = ssl.create_default_context(cadata=base64.b64decode(cluster["certificate-authority-data"]).decode())
    pair = config.with_name("pair.pem")
    pair.write_bytes(b"".join(base64.b64decode(user[f"client-{part}-data"]) for part in ("certificate", "key")))
    context.load_cert_chain(pair)
    where = urlsplit(cluster["server"])
    connection = http.client.HTTPSConnection(where.hostname or "", where.port, context=context, timeout=10)
    try:
        connection.request("GET", path)
        response = connection.getresponse()
        return response.status, response.read().decode()
    finally:
        connection.close()


def stop(process: subprocess.Popen[str], how: signal.Signals = signal.SIGTERM) -> tuple[str, str]:
    """Ends it; what it said after its first line, and what it said to the terminal."""
    assert process.stdout is not None
    assert process.stderr is not None
    process.send_signal(how)
    out, err = process.stdout.read(), process.stderr.read()
    process.wait(60)
    return out, err


def test_a_detached_server_is_ready_when_the_command_returns(machine: Machine) -> None:
    started = machine.run("up", "--detach", "--port", "0", "-o", "json")
    assert started.returncode == 0, started.stdout + started.stderr
    report = json.loads(started.stdout)
    assert get(Path(report["kubeconfig"]), "/readyz") == (200, "ok")

    status = machine.run("status", "-o", "json")
    assert status.returncode == 0
    seen = json.loads(status.stdout)
    assert (seen["ready"], seen["pid"], seen["url"]) == (True, report["pid"], report["url"])
    assert "garbage-collector-controller" in seen["controllers"]
    assert machine.run("kubeconfig", "--path").stdout.strip() == report["kubeconfig"]
    assert machine.run("kubeconfig").stdout == Path(report["kubeconfig"]).read_text()

    down = machine.run("down")
    assert down.returncode == 0
    assert f"kapi (pid {report['pid']}) stopped" in down.stdout
    assert machine.run("status").returncode == 3


def test_it_says_where_everything_is_and_what_to_type(machine: Machine) -> None:
    process = machine.start()
    out, err = stop(process, signal.SIGINT)
    assert process.returncode == 0
    assert "is ready after" in machine.first_line
    assert f"kubeconfig  {machine.data / 'kubeconfig'}" in out
    assert f"export KUBECONFIG={machine.data / 'kubeconfig'}" in out
    assert "kubectl get namespaces" in out
    assert "stopping: " in err
    assert not (machine.data / "kapi.json").exists()


def test_a_second_kapi_on_the_directory_is_refused_and_the_first_goes_on(machine: Machine) -> None:
    process = machine.start("-o", "json")
    pid = json.loads(machine.first_line)["pid"]
    for detach in ([], ["--detach"]):
        second = machine.run("up", *detach)
        assert second.returncode == 1
        assert f"is in use by kapi with pid {pid}" in second.stderr
        assert "kapi down" in second.stderr
    assert machine.run("status").returncode == 0
    stop(process)


def test_a_throw_away_runs_beside_it_and_keeps_no_store(machine: Machine) -> None:
    process = machine.start()
    throw_away = machine.start("--in-memory", "-o", "json")
    assert json.loads(machine.first_line)["store"] == "memory"
    assert machine.run("status", "--in-memory").returncode == 0
    assert not (machine.data / "in-memory" / "kapi.db").exists()
    stop(throw_away)
    stop(process)


def test_a_taken_port_is_an_error_only_when_it_was_asked_for(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        for detach in ([], ["--detach"]):
            refused = machine.run("up", "--port", str(port), *detach)
            assert refused.returncode == 1
            assert f"port {port} on 127.0.0.1 is taken" in refused.stderr
    assert machine.run("status").returncode == 3


def test_the_certificates_outlive_a_restart(machine: Machine) -> None:
    stop(machine.start())
    before = {path.name: path.read_bytes() for path in (machine.data / "pki").iterdir()}
    stop(machine.start())
    assert {path.name: path.read_bytes() for path in (machine.data / "pki").iterdir()} == before


def test_a_killed_server_does_not_hinder_the_next(machine: Machine) -> None:
    process = machine.start()
    stop(process, signal.SIGKILL)
    assert machine.run("status").returncode == 3
    assert machine.run("down").returncode == 0
    again = machine.start()
    assert "is ready after" in machine.first_line
    stop(again)


def test_a_merge_adds_a_context_and_leaves_a_backup(machine: Machine) -> None:
    config = machine.directory / ".kube" / "config"
    config.parent.mkdir()
    config.write_text("apiVersion: v1\nkind: Config\ncontexts:\n- name: work\n  context: {}\ncurrent-context: work\n")
    process = machine.start("--merge", "--kubeconfig", str(machine.directory / "own"), "-o", "json")
    report = json.loads(machine.first_line)
    assert report["kubeconfig"] == str(machine.directory / "own")
    assert [entry["name"] for entry in yaml.safe_load(config.read_text())["contexts"]] == ["work", "kapi"]
    assert "kapi" not in Path(report["backup"]).read_text()

    config.unlink()
    assert machine.run("kubeconfig", "--merge").returncode == 0
    assert yaml.safe_load(config.read_text())["current-context"] == "kapi"
    stop(process)


def test_the_store_can_be_checked_and_copied_while_it_is_in_use(machine: Machine) -> None:
    process = machine.start()
    copy = machine.directory / "copy.db"
    assert machine.run("db", "check").returncode == 0
    assert machine.run("db", "backup", str(copy)).returncode == 0
    again = machine.run("db", "backup", str(copy))
    assert again.returncode == 1
    assert "exists already" in again.stderr
    stop(process)

    (machine.directory / "restored").mkdir()
    copy.rename(machine.directory / "restored" / "kapi.db")
    assert machine.run("db", "check", "--data-dir", str(machine.directory / "restored")).returncode == 0


def test_flags_after_the_dashes_reach_the_server(machine: Machine) -> None:
    stop(machine.start("--", "--logging-format=json"))
    lines = (machine.data / "kapi.log").read_text().splitlines()
    assert json.loads(lines[0])["msg"] == "Version"


def test_etcd_that_is_not_there_is_waited_for_aloud_and_then_a_problem(machine: Machine) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"http://127.0.0.1:{taken.getsockname()[1]}"
    flags = (f"--etcd-servers={address}", "--storage-initialization-timeout=1500ms")
    refused = machine.run("up", "--port", "0", "--", *flags)
    assert refused.returncode == 1
    assert "waiting for the store, attempt 1: " in refused.stderr
    assert f"kapi: etcd not there: tried {address}" in refused.stderr
    assert "Traceback" not in refused.stderr
    assert machine.run("status").returncode == 3


def test_a_certificate_that_cannot_be_used_is_a_problem(machine: Machine) -> None:
    stop(machine.start())
    (machine.data / "pki" / "ca.crt").write_text("not a certificate")
    for detach in ([], ["--detach"]):
        refused = machine.run("up", "--port", "0", *detach)
        assert refused.returncode == 1
        assert f"the certificate authority in {machine.data / 'pki'} is not readable" in refused.stderr
        assert "Traceback" not in refused.stderr


def test_bad_flags_after_the_dashes_are_a_problem(machine: Machine) -> None:
    for flags in (["--nonsense"], ["--max-requests-inflight=-1", "--tls-min-version=VersionTLS9"]):
        refused = machine.run("up", "--port", "0", "--", *flags)
        assert refused.returncode in (1, 2)
        for flag in flags:
            assert flag.partition("=")[0].strip("-") in refused.stderr


def test_flags_choose_the_controllers_that_run_inside(machine: Machine) -> None:
    started = machine.run("up", "--detach", "--in-memory", "--port", "0", "--", "--in-process-controllers=namespace")
    assert started.returncode == 0, started.stdout + started.stderr
    assert "controllers  namespace-controller\n" in machine.run("status", "--in-memory").stdout
    assert machine.run("down", "--in-memory").returncode == 0
