"""The data directory: one owner at a time, whatever becomes of the process."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kapi.cli.home import Home, State, default_home
from kapi.cli.problem import Problem
from kapi.options.complete import default_data_dir

STATE = State(
    pid=4711,
    url="https://127.0.0.1:6443",
    port=6443,
    started=1.0,
    version="0",
    kubeconfig="k",
    log="l",
    store="memory",
)
OWNER = """
import sys
from pathlib import Path
from kapi.cli.home import Home
with Home(Path(sys.argv[1])).owned():
    print("owned", flush=True)
    sys.stdin.read()
"""


def start_owner(directory: Path) -> subprocess.Popen[bytes]:
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"owned\n"
    return process


def end(process: subprocess.Popen[bytes], how: signal.Signals | None = None) -> None:
    with process:
        if how is not None:
            process.send_signal(how)


def test_a_second_owner_is_refused_at_once_and_told_who_the_first_is(tmp_path: Path) -> None:
    home = Home(tmp_path)
    owner = start_owner(tmp_path)
    try:
        home.tell(STATE)
        with pytest.raises(Problem, match="in use by kapi with pid 4711 at https:"), home.owned():
            pass
        assert home.running() == STATE
    finally:
        end(owner)
    assert home.running() is None
    with home.owned():
        assert home.alive()


def test_an_owner_that_was_killed_leaves_nothing_behind_that_counts(tmp_path: Path) -> None:
    home = Home(tmp_path)
    owner = start_owner(tmp_path)
    home.tell(STATE)
    end(owner, signal.SIGKILL)
    assert home.running() is None
    with home.owned():
        assert home.alive()
        assert home.running() is None


def test_an_owner_that_is_not_ready_is_alive_but_not_running(tmp_path: Path) -> None:
    with Home(tmp_path).owned():
        assert Home(tmp_path).alive()
        assert Home(tmp_path).running() is None


def test_a_state_of_another_version_is_not_an_error(tmp_path: Path) -> None:
    (tmp_path / "kapi.json").write_text('{"pid": 1, "from the future": true}')
    with Home(tmp_path).owned():
        assert Home(tmp_path).running() is None


def test_the_directory_is_private(tmp_path: Path) -> None:
    home = Home(tmp_path / "a" / "b")
    home.create()
    assert home.directory.stat().st_mode & 0o077 == 0


def test_looking_creates_nothing(tmp_path: Path) -> None:
    home = Home(tmp_path / "none")
    assert home.running() is None
    assert not home.alive()
    assert not home.directory.exists()


def test_both_commands_choose_the_same_directory(tmp_path: Path) -> None:
    for environment in ({}, {"XDG_DATA_HOME": str(tmp_path)}):
        assert default_home(environment).directory == default_data_dir(environment)


def test_the_throw_away_does_not_share_the_lock_of_the_other(tmp_path: Path) -> None:
    environment = {"XDG_DATA_HOME": str(tmp_path)}
    with default_home(environment).owned(), default_home(environment, in_memory=True).owned():
        assert sorted(os.listdir(tmp_path / "kapi")) == ["in-memory", "kapi.lock"]
