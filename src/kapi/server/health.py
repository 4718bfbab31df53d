"""Health: named checks, served together under /healthz, /livez and /readyz, and each alone below them.

A check returns why it fails, or None. Whoever may not see a check alone is not told why it fails.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace

from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.filters.handler import CallHandler
from kapi.telemetry.instruments import Instruments
from kapi.wire.messages import Response, text

ENDPOINTS = ("healthz", "livez", "readyz")

_PLAIN = (b"content-type", b"text/plain; charset=utf-8")


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """`boot` marks a part of the start, for which livez has patience."""

    name: str
    run: Callable[[], Awaitable[str | None]]
    endpoints: tuple[str, ...] = ENDPOINTS
    boot: bool = False


async def _well() -> str | None:
    return None


PING = Check(name="ping", run=_well)
# The log is written as events happen, without a buffer that could be stuck.
LOG = Check(name="log", run=_well)
# Loopback requests are made in process: there is no certificate that could expire before the server is started again.
LOOPBACK = Check(name="loopback-serving-certificate", run=_well, endpoints=("healthz", "livez"))


def event_check(name: str, is_set: Callable[[], bool], otherwise: str, **more: object) -> Check:
    """Fails with a reason until something has happened."""

    async def run() -> str | None:
        return None if is_set() else otherwise

    return replace(Check(name=name, run=run), **more)  # type: ignore[arg-type]


def with_grace_period(check: Check, clock: Clock, until: float) -> Check:
    """The check, which cannot fail before then (monotonic)."""

    async def run() -> str | None:
        return await check.run() if clock.monotonic() > until else None

    return replace(check, run=run)


def health_routes(
    endpoint: str,
    checks: Iterable[Check],
    instruments: Instruments,
    first_time_healthy: Callable[[], None] | None = None,
) -> dict[str, CallHandler]:
    """The handlers of an endpoint, by path."""
    checks = list(checks)
    routes: dict[str, CallHandler] = {f"/{endpoint}": _together(endpoint, checks, instruments, first_time_healthy)}
    for check in checks:
        routes[f"/{endpoint}/{check.name}"] = _alone(check)
    return routes


def _together(
    endpoint: str, checks: list[Check], instruments: Instruments, first_time_healthy: Callable[[], None] | None
) -> CallHandler:
    log, record = instruments.log, instruments.health.record

    async def handle(call: Call) -> Response:
        excluded = set(call.params.get("exclude", ()))
        unknown = excluded - {check.name for check in checks}
        lines: list[str] = []
        failed: dict[str, str] = {}
        for check in checks:
            if check.name in excluded:
                lines.append(f"[+]{check.name} excluded: ok\n")
                continue
            why = await check.run()
            record(check.name, endpoint, well=why is None)
            if why is None:
                lines.append(f"[+]{check.name} ok\n")
            else:
                failed[check.name] = why
                lines.append(f"[-]{check.name} failed: reason withheld\n")
        if unknown:
            names = ",".join(json.dumps(name, ensure_ascii=False) for name in sorted(unknown))
            lines.append(f"warn: some health checks cannot be excluded: no matches for {names}\n")
        if failed:
            log.debug(2, "health_check_failed", endpoint=endpoint, **failed)
            return text(500, "".join(lines) + f"{endpoint} check failed\n")
        if first_time_healthy is not None:
            first_time_healthy()
        if "verbose" not in call.params:
            return text(200, "ok")
        return text(200, "".join(lines) + f"{endpoint} check passed\n")

    return handle


def _alone(check: Check) -> CallHandler:
    async def handle(call: Call) -> Response:
        why = await check.run()
        if why is not None:
            return text(500, f"internal server error: {why}\n")
        return Response(200, [_PLAIN], b"ok")

    return handle
