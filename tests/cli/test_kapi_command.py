"""The command line of `kapi`: what it answers without a server, and what it says when it cannot."""

from __future__ import annotations

import asyncio
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import kapi
from kapi.cli.kapi import main
from kapi.storage.sqlite import SQLiteKV


def test_version_is_the_package_s(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["version"]) == 0
    assert capsys.readouterr().out.startswith(f"kapi {kapi.__version__} (Kubernetes v1.")
    assert main(["version", "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["version"] == kapi.__version__


def test_version_and_status_load_no_server(tmp_path: Path) -> None:
    code = f"""
import sys
from kapi.cli.kapi import main
main(["version"])
main(["status", "--data-dir", {str(tmp_path)!r}])
print([name for name in ("asyncio", "ssl", "cryptography", "kapi.options", "kapi.app", "yaml") if name in sys.modules])
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines()[-1] == "[]"


@pytest.mark.parametrize(
    "arguments", [[], ["nonsense"], ["db"], ["up", "--por", "1"], ["down", "--timeout", "soon"], ["db", "backup"]]
)
def test_a_command_line_without_sense_is_status_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    assert "usage: kapi" in capsys.readouterr().err


def test_only_up_takes_flags_of_the_server(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--", "--v=4"]) == 2
    assert "only `kapi up`" in capsys.readouterr().err


def test_help_shows_every_command_and_examples(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["--help"])
    text = capsys.readouterr().out
    assert all(re.search(rf"^\s+{name}\b", text, re.M) for name in ("up", "down", "status", "kubeconfig", "db"))
    assert "kapi up --detach" in text


def test_status_of_nothing_is_3(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["status", "--data-dir", str(tmp_path / "none")]) == 3
    assert "not running" in capsys.readouterr().out
    assert not (tmp_path / "none").exists()


def test_down_of_nothing_is_done(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["down", "--data-dir", str(tmp_path), "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"stopped": False}


@pytest.mark.parametrize("arguments", [["kubeconfig"], ["kubeconfig", "--path"], ["kubeconfig", "--merge"]])
def test_a_kubeconfig_that_was_never_written_is_a_problem(
    arguments: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*arguments, "--data-dir", str(tmp_path)]) == 3
    assert "`kapi up`" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bind-address", "localhost"], "--bind-address is not an IP address: localhost"),
        (["--bind-address", "192.0.2.1"], "cannot listen on 192.0.2.1"),
        (["--port", "70000"], "70000 is not a port"),
        (["--port", "0", "--", "--no-such-flag"], "unknown flag: --no-such-flag"),
        (["--port", "0", "--", "--etcd-servers=nowhere://x"], "--etcd-servers"),
        (["--port", "0", "--", "--service-cluster-ip-range=ten"], "not an address or range"),
        (["--port", "0", "--", "extra"], "unexpected argument: extra"),
    ],
)
def test_up_says_what_is_wrong_before_it_starts(
    arguments: list[str], said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["up", "--data-dir", str(tmp_path), *arguments]) in (1, 2)
    assert said in capsys.readouterr().err
    assert main(["status", "--data-dir", str(tmp_path)]) == 3


def test_a_problem_is_a_document_for_programs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "file").write_text("")
    assert main(["up", "--data-dir", str(tmp_path / "file"), "-o", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert "cannot create the data directory" in answer["error"]
    assert "--data-dir" in answer["next"]


def test_a_certificate_that_is_damaged_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "ca.crt").write_text("rubbish")
    (tmp_path / "pki" / "ca.key").write_text("rubbish")
    assert main(["up", "--data-dir", str(tmp_path), "--port", "0"]) == 1
    assert f"the certificate authority in {tmp_path / 'pki'} is not readable" in capsys.readouterr().err


def test_a_database_that_is_not_there_is_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["db", "check", "--data-dir", str(tmp_path)]) == 1
    assert main(["db", "backup", str(tmp_path / "copy"), "--data-dir", str(tmp_path)]) == 1
    assert capsys.readouterr().err.count("there is no database in") == 2


def test_damage_is_reported_fault_by_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kapi.db").write_bytes(b"not a database" * 100)
    assert main(["db", "check", "--data-dir", str(tmp_path), "-o", "json"]) == 1
    answer = json.loads(capsys.readouterr().out)
    assert answer["sound"] is False
    assert answer["faults"]


def test_a_store_in_use_is_sound_and_can_be_copied(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async def use() -> tuple[int, int, int]:
        store = SQLiteKV(tmp_path / "kapi.db")
        await store.start()
        try:
            await store.create("/registry/a", b"{}")
            where = ("--data-dir", str(tmp_path))
            checked = await asyncio.to_thread(main, ["db", "check", *where])
            copied = await asyncio.to_thread(main, ["db", "backup", str(tmp_path / "copy"), *where])
            again = await asyncio.to_thread(main, ["db", "backup", str(tmp_path / "copy"), *where])
            return checked, copied, again
        finally:
            await store.close()

    assert asyncio.run(use()) == (0, 0, 1)
    assert "exists already" in capsys.readouterr().err
    restored = tmp_path / "restored"
    restored.mkdir()
    (tmp_path / "copy").rename(restored / "kapi.db")
    assert main(["db", "check", "--data-dir", str(restored)]) == 0
