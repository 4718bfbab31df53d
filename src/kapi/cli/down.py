"""`kapi down`: asks the server to stop and waits until it has, saying what it waits for."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from kapi.cli.console import Console
from kapi.cli.home import Home
from kapi.cli.problem import Problem

POLL = 0.02
DEFAULT_TIMEOUT = 75.0  # requests in flight get a minute


def down(home: Home, timeout: float, console: Console) -> int:
    state = home.running()
    if state is None:
        if home.alive():
            raise Problem(f"the kapi in {home.directory} is still starting", "Wait until `kapi status` shows it.")
        console.result([f"kapi is not running in {home.directory}"], {"stopped": False})
        return 0
    with suppress(ProcessLookupError):
        os.kill(state.pid, signal.SIGTERM)

    started = time.monotonic()
    said = state.phase
    while home.alive():
        current = home.running()
        if current and current.phase != said:
            said = current.phase
            console.progress(f"waiting: {said}")
        if time.monotonic() - started > timeout:
            raise Problem(
                f"kapi (pid {state.pid}) has not stopped within {timeout:g} s: {said}",
                "`kapi down` again makes it exit at once, dropping what is under way.",
            )
        time.sleep(POLL)
    seconds = round(time.monotonic() - started, 3)
    console.result([f"kapi (pid {state.pid}) stopped after {seconds:.1f} s"], {"stopped": True, "seconds": seconds})
    return 0
