"""The command as a script or a person meets it: help, version, bad flags. No server is started."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

COMMAND = (sys.executable, "-m", "kapi.cli.kube_apiserver")


def run(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([*COMMAND, *arguments], capture_output=True, text=True, timeout=60)


def test_help_has_sections_and_goes_to_standard_output() -> None:
    result = run("--help")
    assert result.returncode == 0
    assert result.stderr == ""
    assert "Usage:\n  kube-apiserver [flags]\n\nGeneric flags:\n\n      --advertise-address ip " in result.stdout
    assert run("-h").stdout == result.stdout


def test_help_is_wrapped_to_the_terminal() -> None:
    parent, child = pty.openpty()
    subprocess.run(["stty", "cols", "70"], stdin=child, check=True)
    process = subprocess.Popen([*COMMAND, "--help"], stdout=child, stderr=child)
    os.close(child)
    shown = b""
    try:
        while chunk := os.read(parent, 65536):
            shown += chunk
    except OSError:  # how Linux tells the end of a terminal
        pass
    os.close(parent)
    assert process.wait(60) == 0
    text = shown.decode().replace("\r\n", "\n").partition("Generic flags:")[2]
    assert "\n      --secure-port int\n                The port for HTTPS" in text
    assert max(len(line) for line in text.splitlines() if len(line.split()) > 1) <= 70


@pytest.mark.parametrize("flag", ["--version", "--version=true"])
def test_the_version_is_the_kubernetes_version(flag: str) -> None:
    result = run(flag)
    assert (result.returncode, result.stdout) == (0, "Kubernetes v1.37.0\n")


def test_the_raw_version_has_its_parts() -> None:
    assert 'GitVersion:"v1.37.0"' in run("--version=raw").stdout


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--foo",), "Error: unknown flag: --foo\n"),
        (("--secure-port",), "Error: flag needs an argument: --secure-port\n"),
        (("up", "now"), 'Error: "kube-apiserver" does not take any arguments, got ["up" "now"]\n'),
    ],
)
def test_a_line_that_cannot_be_read_ends_with_one_error(arguments: tuple[str, ...], message: str) -> None:
    result = run(*arguments)
    assert (result.returncode, result.stdout, result.stderr) == (1, "", message)


def test_the_version_is_logged_first_and_all_errors_follow() -> None:
    result = run("--advertise-address=192.0.2.1", "--secure-port=0", "--ssh-user=me")
    first, *errors = result.stderr.splitlines()[1:]
    assert result.returncode == 1
    assert result.stderr.startswith("Flag --ssh-user has been deprecated, ")
    assert '"Version" version="v1.37.0"' in first
    assert errors == [
        "Error: --secure-port 0 must be between 1 and 65535, inclusive. It cannot be turned off with 0",
        "Error: --ssh-user=me is not supported: there are no SSH tunnels to nodes yet",
    ]


def test_flags_are_logged_only_when_asked_for() -> None:
    bad = ("--advertise-address=192.0.2.1", "--secure-port=0")
    assert "FLAG: " not in run(*bad).stderr
    assert '"FLAG: --secure-port=0"' in run(*bad, "-v=1").stderr


def test_a_certificate_directory_that_cannot_be_written_is_a_clear_error(tmp_path: os.PathLike[str]) -> None:
    blocked = os.path.join(tmp_path, "certs")
    with open(blocked, "w") as file:
        file.write("in the way")
    result = run("--advertise-address=192.0.2.1", f"--cert-dir={blocked}")
    assert result.returncode == 1
    assert "Error: error creating self-signed certificates: " in result.stderr


def test_help_loads_nothing_of_the_server() -> None:
    code = (
        "import sys; sys.argv = ['kube-apiserver', '--help']\n"
        "from kapi.cli.kube_apiserver import main; main()\n"
        "heavy = {'asyncio', 'ssl', 'orjson', 'cryptography', 'sqlite3', 'grpc', 'yaml', 'uvloop', 'argparse'}\n"
        "sys.stderr.write(' '.join(sorted(heavy & set(sys.modules))))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (result.returncode, result.stderr) == (0, "")
