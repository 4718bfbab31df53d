"""`kapi status`: whether it runs, whether it is ready, where it is and how much it stores."""

from __future__ import annotations

import time
from pathlib import Path

from kapi.cli.console import Console, size, span, table
from kapi.cli.home import Home, State
from kapi.cli.problem import EXIT_FAILED, EXIT_NOT_RUNNING

ANSWER_WITHIN = 5.0


def status(home: Home, console: Console) -> int:
    """0: ready. 1: running, not ready. 3: not running."""
    state = home.running()
    if state is None:
        starting = home.alive()
        what = "starting" if starting else "not running"
        document = {"running": starting, "ready": False, "state": what, "directory": str(home.directory)}
        console.result([f"kapi is {what} in {home.directory}"], document)
        return EXIT_FAILED if starting else EXIT_NOT_RUNNING

    unready = _why_not_ready(home, state)
    stored = _stored(home) if state.store != "memory" and not state.store.startswith("etcd ") else None
    rows = [
        ("server", state.url),
        ("ready", "yes" if unready is None else f"no: {unready}"),
        ("pid", str(state.pid)),
        ("up", span(time.time() - state.started)),
        ("store", state.store if stored is None else f"{state.store} ({size(stored)})"),
        ("controllers", ", ".join(state.controllers) or "none: a controller manager is left to run them"),
        ("kubeconfig", state.kubeconfig),
        ("log", state.log),
    ]
    document = {
        "running": True,
        "ready": unready is None,
        "reason": unready,
        "uptimeSeconds": round(time.time() - state.started, 1),
        "storeBytes": stored,
        "controllers": list(state.controllers),
        **{name: getattr(state, name) for name in ("pid", "url", "port", "version", "store", "kubeconfig", "log")},
    }
    console.result([f"kapi {state.version} is running", *table(rows)], document)
    return 0 if unready is None else EXIT_FAILED


def _why_not_ready(home: Home, state: State) -> str | None:
    """Asks /readyz as the administrator."""
    import http.client  # with ssl the larger part of this command's time, and only a running server needs them
    import ssl
    from urllib.parse import urlsplit

    if state.phase != "running":
        return f"stopping: {state.phase}"
    where = urlsplit(state.url)
    try:
        context = ssl.create_default_context(cafile=str(home.pki / "ca.crt"))
        context.load_cert_chain(home.pki / "admin.crt", home.pki / "admin.key")
        connection = http.client.HTTPSConnection(
            where.hostname or "", where.port, timeout=ANSWER_WITHIN, context=context
        )
        try:
            connection.request("GET", "/readyz")
            response = connection.getresponse()
            text = response.read().decode(errors="replace")
        finally:
            connection.close()
    except (OSError, http.client.HTTPException) as error:
        return f"no answer: {error}"
    if response.status == 200:
        return None
    failed = [line.split("]", 1)[1].split(" ")[0] for line in text.splitlines() if line.startswith("[-]")]
    return f"{response.status} {', '.join(failed)}".rstrip()


def _stored(home: Home) -> int:
    """What the database's files take on disk."""
    return sum(_file_size(path) for path in home.directory.glob(f"{home.database.name}*"))


def _file_size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:  # a write-ahead log may go while we look
        return 0
