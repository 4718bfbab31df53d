"""`/debug/pprof/`: profiles of the running server under the names that Go gives them, and `/debug/flags/v`.

The profiles are Python's own: `profile` is for `pstats`, `trace` for Perfetto, the rest is text.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from html import escape
from typing import TYPE_CHECKING

from kapi.api.call import Call
from kapi.filters.handler import CallHandler
from kapi.server.routes import Routes
from kapi.telemetry.log import Log
from kapi.wire.messages import Response, text

if TYPE_CHECKING:
    from kapi.telemetry.profiles import Profiles

_ROOT = "/debug/pprof/"
_PROFILES = {
    "allocs": "What was allocated in ?seconds=N, by line.",
    "cmdline": "The command line of this process.",
    "goroutine": "All tasks and threads, and where each is.",
    "heap": "What is held in memory: live objects by type, or with ?seconds=N what was allocated in that time.",
    "profile": "Where time is spent in ?seconds=N (30), for Python's pstats; with ?debug=1 as text.",
    "symbol": "Addresses by name; Python has none.",
    "threadcreate": "All threads, and where each is.",
    "trace": "Every call in ?seconds=N (1), for Perfetto.",
}
_BINARY = (b"content-type", b"application/octet-stream")
_LONGEST = 600.0


def add_profiling(routes: Routes, log: Log) -> None:
    """Loaded with the first request for a profile: few servers are ever asked."""
    profiles: list[Profiles] = []

    def loaded() -> Profiles:
        if not profiles:
            from kapi.telemetry.profiles import Profiles

            profiles.append(Profiles())
        return profiles[0]

    routes.exact["/debug/pprof"] = _moved
    routes.unlisted.add("/debug/pprof")
    routes.add_prefix(_ROOT, _handler(loaded), listed=False)
    routes.exact["/debug/flags/v"] = _verbosity(log)
    routes.unlisted.add("/debug/flags/v")


async def _moved(call: Call) -> Response:
    return Response(301, [(b"location", _ROOT.encode())])


def _handler(loaded: Callable[[], Profiles]) -> CallHandler:
    async def handle(call: Call) -> Response:
        name = call.info.path.removeprefix(_ROOT)
        if not name:
            return _index()
        if name not in _PROFILES:
            return text(404, "Unknown profile\n")
        if name == "cmdline":
            return text(200, "\0".join(sys.argv))
        if name == "symbol":
            return text(200, "num_symbols: 0\n")
        return await _profile(call, name, loaded())

    return handle


async def _profile(call: Call, name: str, profiles: Profiles) -> Response:
    from kapi.telemetry.profiles import InUse

    try:
        if name == "profile":
            readable = _number(call, "debug") > 0
            body = await profiles.cpu(_number(call, "seconds") or 30.0, readable=readable)
            return text(200, body.decode()) if readable else _attachment(body, "profile")
        if name == "trace":
            return _attachment(await profiles.trace(_number(call, "seconds") or 1.0), "trace")
    except InUse as error:
        return text(500, f"Could not enable CPU profiling: {error}\n")
    if name in ("heap", "allocs"):
        default = 1.0 if name == "allocs" else 0.0
        return text(200, await profiles.heap(_number(call, "seconds") or default))
    return text(200, profiles.tasks() if name == "goroutine" else profiles.threads())


def _number(call: Call, name: str) -> float:
    """As Go's pprof: what is no positive number counts as none."""
    try:
        return max(0.0, min(float((call.params.get(name) or ["0"])[0]), _LONGEST))
    except ValueError:
        return 0.0


def _attachment(body: bytes, name: str) -> Response:
    disposition = f'attachment; filename="{name}"'.encode()
    return Response(
        200, [_BINARY, (b"x-content-type-options", b"nosniff"), (b"content-disposition", disposition)], body
    )


def _index() -> Response:
    rows = "".join(
        f'<tr><td><a href="{name}">{name}</a></td><td>{escape(what)}</td></tr>\n' for name, what in _PROFILES.items()
    )
    page = f"<html>\n<head><title>{_ROOT}</title></head>\n<body>\n<table>\n{rows}</table>\n</body>\n</html>\n"
    headers = [(b"content-type", b"text/html; charset=utf-8"), (b"x-content-type-options", b"nosniff")]
    return Response(200, headers, page.encode())


def _verbosity(log: Log) -> CallHandler:
    async def handle(call: Call) -> Response:
        if call.request.method != "PUT":
            return text(406, "unsupported http method")
        given = (await call.request.body(64)).decode("utf-8", "replace")
        try:
            log.verbosity = int(given)
        except ValueError:
            return text(400, f'error reading the verbosity: strconv.ParseInt: parsing "{given}": invalid syntax')
        return text(200, f"successfully set klog.logging.verbosity to {given}")

    return handle
