"""Request metrics: how many, how long, how large, by what was asked for.

Label values that come from the path are used only once such a request has succeeded: what clients make up must not grow
the metrics.
"""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.api.request_info import RequestInfo
from kapi.filters.handler import CallHandler
from kapi.telemetry.requests import RequestMetrics
from kapi.wire.messages import Response

_METHODS = frozenset(("GET", "LIST", "POST", "PUT", "PATCH", "APPLY", "DELETE", "WATCH", "CONNECT"))
_CONNECT = frozenset(("log", "exec", "portforward", "attach", "proxy"))
_COMPONENT = "apiserver"
_MOST_KNOWN = 5000
_READS = ("GET", "LIST")
_What = tuple[str, str, str, str]
_UNKNOWN: _What = ("", "", "", "")


def with_request_metrics(next: CallHandler, metrics: RequestMetrics, clock: Clock) -> CallHandler:
    monotonic = clock.monotonic
    total, duration, sizes = metrics.total.inc, metrics.duration.observe, metrics.sizes.observe
    known: set[_What] = set()

    def record(call: Call, status: int) -> None:
        if call.response is None:
            status = 500  # nobody was there to be told
        what = _what(call.info)
        if what not in known:
            if status < 400 and len(known) < _MOST_KNOWN:
                known.add(what)
            else:
                what = _UNKNOWN
        verb = reported_verb(call)
        about = (verb, _dry_run(call) if call.params else "", *what, _scope(call.info), _COMPONENT)
        total((*about, str(status)))
        if not call.long_running:
            duration(monotonic() - call.received, about)
        if verb in _READS and call.response is not None and call.response.body:
            sizes(len(call.response.body), (verb, *about[2:]))

    def handle(call: Call) -> Awaitable[Response]:
        call.finished.append(record)
        return long_running(call) if call.long_running else next(call)

    async def long_running(call: Call) -> Response:
        response = await next(call)
        if response.status < 400:
            labels = (reported_verb(call), *_what(call.info), _scope(call.info), _COMPONENT)
            metrics.long_running.inc(labels)
            call.finished.append(lambda _call, _status: metrics.long_running.dec(labels))
        return response

    return handle


def reported_verb(call: Call) -> str:
    """The verb as metrics and logs name it: lists, watches, applies and connects told apart from the bare method."""
    info = call.info
    method = call.request.method
    if info.is_resource_request:
        if info.subresource in _CONNECT:
            return "CONNECT"
        if info.verb == "watch":
            return "WATCH"
        if method == "PATCH" and (call.request.headers.get("content-type") or "").startswith(
            "application/apply-patch+"
        ):
            return "APPLY"
    if method in ("GET", "HEAD"):
        return "LIST" if info.is_resource_request and not info.name else "GET"
    return method if method in _METHODS else "other"


def _what(info: RequestInfo) -> _What:
    if info.is_resource_request:
        return info.api_group, info.api_version, info.resource, info.subresource
    return "", "", "", info.path


def _scope(info: RequestInfo) -> str:
    if info.name or info.verb == "create":
        return "resource"
    if info.namespace:
        return "namespace"
    return "cluster" if info.is_resource_request else ""


def _dry_run(call: Call) -> str:
    given = call.params.get("dryRun")
    if not given:
        return ""
    return "All" if set(given) == {"All"} else "invalid"
