"""The data directory: where everything of one kapi lies, who owns it now, and what it said of itself when it started.

The owner holds a lock on `kapi.lock` as long as it lives: the kernel gives it back whatever happens, so a process
number in a state file that was left behind is never mistaken for a running server.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from kapi.cli.problem import Problem

LOCK_TRIES, LOCK_PAUSE = 5, 0.02  # `kapi status` holds the lock for an instant to see whether it is free


@dataclass(frozen=True, slots=True, kw_only=True)
class State:
    """What a running kapi tells `kapi status` and `kapi down`."""

    pid: int
    url: str
    port: int
    started: float  # seconds since the epoch
    version: str
    kubeconfig: str
    log: str
    store: str
    controllers: tuple[str, ...] = ()  # that run inside the server
    phase: str = "running"  # then what the shutdown waits for


@dataclass(frozen=True, slots=True)
class Home:
    directory: Path

    @property
    def pki(self) -> Path:
        return self.directory / "pki"

    @property
    def kubeconfig(self) -> Path:
        return self.directory / "kubeconfig"

    @property
    def log(self) -> Path:
        return self.directory / "kapi.log"

    @property
    def database(self) -> Path:
        return self.directory / "kapi.db"

    @property
    def _state(self) -> Path:
        return self.directory / "kapi.json"

    def create(self) -> None:
        try:
            self.directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError as error:
            raise Problem(
                f"cannot create the data directory {self.directory}: {error.strerror}",
                "Choose another with --data-dir.",
            ) from error

    @contextmanager
    def owned(self) -> Iterator[None]:
        """Holds the directory until the block ends; a Problem at once when another process does."""
        self.create()
        lock = _acquire(self.directory)
        if lock is None:
            raise self._in_use()
        try:
            self.forget()
            yield
        finally:
            self.forget()
            os.close(lock)

    def running(self) -> State | None:
        """What the owner said, while there is an owner and it is ready or stopping."""
        state = self._read()
        return state if state is not None and self.alive() else None

    def alive(self) -> bool:
        """Whether there is an owner, ready or not."""
        return _is_held(self.directory)

    def tell(self, state: State) -> None:
        from kapi.wire.pki import write_atomically

        write_atomically(self._state, json.dumps(asdict(state)).encode() + b"\n", 0o600)

    def forget(self) -> None:
        with suppress(FileNotFoundError):
            self._state.unlink()

    def _read(self) -> State | None:
        try:
            found = json.loads(self._state.read_bytes())
            return State(**{**found, "controllers": tuple(found.get("controllers", ()))})
        except (OSError, ValueError, TypeError, AttributeError):
            return None

    def _in_use(self) -> Problem:
        state = self._read()
        who = f"kapi with pid {state.pid} at {state.url}" if state else "another kapi that is starting or stopping"
        return Problem(
            f"the data directory {self.directory} is in use by {who}",
            "`kapi status` shows it, `kapi down` stops it; or choose another with --data-dir.",
        )


def default_home(environment: Mapping[str, str] = os.environ, *, in_memory: bool = False) -> Home:
    """Under the user's data directory; a store in memory has its certificates and kubeconfig beside, not among, it."""
    if configured := environment.get("XDG_DATA_HOME"):
        base = Path(configured)
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Application Support"
    else:
        base = Path.home() / ".local" / "share"
    home = base / "kapi"
    return Home(home / "in-memory" if in_memory else home)


def _acquire(directory: Path) -> int | None:
    """The lock, as an open file; None when another process holds it."""
    import fcntl  # not on Windows, where only this would be missing

    try:
        handle = os.open(directory / "kapi.lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise Problem(
            f"cannot use the data directory {directory}: {error.strerror}",
            "Check its owner and mode, or choose another with --data-dir.",
        ) from error
    for _ in range(LOCK_TRIES):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return handle
        except BlockingIOError:
            time.sleep(LOCK_PAUSE)
    os.close(handle)
    return None


def _is_held(directory: Path) -> bool:
    import fcntl

    try:
        handle = os.open(directory / "kapi.lock", os.O_RDONLY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
        return False
    except BlockingIOError:
        return True
    finally:
        os.close(handle)
