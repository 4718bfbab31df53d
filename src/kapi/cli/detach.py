"""`kapi up --detach`: the same server in a session of its own; returns when it is ready.

The child is `kapi up -o json`: the one line it prints, a report or an error, is all that has to be waited for.
"""

from __future__ import annotations

import json
import selectors
import subprocess
import sys
import time
from typing import IO

from kapi.cli.console import Console
from kapi.cli.problem import Problem
from kapi.cli.up import Up, ready_lines

FIRST_WORD = 2.0  # seconds of silence before progress is shown


def detach(asked: Up, console: Console) -> int:
    asked.home.create()
    with asked.home.log.open("ab") as log:
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "kapi.cli.kapi", *asked.arguments()],  # -P: not what lies in this directory
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
        )
    assert child.stdout is not None
    with child.stdout as output:
        line = _first_line(output, console, str(asked.home.log))
    report = _parsed(line)
    if report is None or "error" in report:
        child.wait()
        said = report or {"error": "the server stopped before it was ready", "next": f"See {asked.home.log}"}
        raise Problem(str(said["error"]), str(said["next"]))
    child.returncode = 0  # it lives on without us: no complaint about a process that was not waited for
    console.result([*ready_lines(report), "  kapi down   stops it"], report)
    return 0


def _first_line(output: IO[bytes], console: Console, log: str) -> bytes:
    """What the child says first; empty when it ends without a word."""
    start = time.monotonic()
    with selectors.DefaultSelector() as selector:
        selector.register(output, selectors.EVENT_READ)
        while not selector.select(FIRST_WORD):
            console.progress(f"waiting for the server to be ready: {time.monotonic() - start:.0f} s (log: {log})")
    return output.readline()


def _parsed(line: bytes) -> dict[str, object] | None:
    try:
        report = json.loads(line)
    except ValueError:
        return None
    return report if isinstance(report, dict) else None
