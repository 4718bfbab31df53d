"""Request info: what the request line means, read once for everything below."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call, Request
from kapi.api.errors import BadRequest
from kapi.api.request_info import BadRequestPath, RequestInfo, parse_query, parse_request_info
from kapi.filters.handler import CallHandler, refuse
from kapi.wire.messages import Response, text

# Paths come again: those of controllers, of collections, of leases. So many are known at a time.
_MOST_KNOWN = 2000
_LONGEST_KNOWN = 256
_SANITIZED = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_LONG_RUNNING_VERBS = frozenset(("watch", "proxy"))
_LONG_RUNNING_SUBRESOURCES = frozenset(("attach", "exec", "log", "portforward", "proxy"))


def with_request_info(next: CallHandler) -> CallHandler:
    known: dict[tuple[str, str], tuple[RequestInfo, bool]] = {}

    def handle(call: Call) -> Awaitable[Response]:
        request = call.request
        if request.query:
            return parse(call)
        found = known.get((request.method, request.path))
        if found is None:
            return parse(call)
        call.params = {}
        call.info, call.long_running = found
        return next(call)

    def parse(call: Call) -> Awaitable[Response]:
        request = call.request
        try:
            call.params = params = parse_query(request.query)
            call.info = info = parse_request_info(request.method, request.path, params)
        except BadRequestPath as error:
            return _failed(request, error)
        except ValueError as error:
            return refuse(call, BadRequest(f"failed to create RequestInfo: {error}"))
        call.long_running = is_long_running(info)
        if not request.query and len(request.path) <= _LONGEST_KNOWN:
            if len(known) >= _MOST_KNOWN:
                known.clear()
            known[request.method, request.path] = (info, call.long_running)
        return next(call)

    return handle


async def _failed(request: Request, error: BadRequestPath) -> Response:
    """As upstream: not even a Status."""
    query = f"?{request.query}" if request.query else ""
    told = f'Internal Server Error: "{request.path}{query}": failed to create RequestInfo: {error}{query}\n'
    return text(500, told.translate(_SANITIZED))


def is_long_running(info: RequestInfo) -> bool:
    """As upstream's BasicLongRunningRequestCheck, with kube-apiserver's verbs and subresources."""
    if info.verb in _LONG_RUNNING_VERBS:
        return True
    if info.is_resource_request:
        return info.subresource in _LONG_RUNNING_SUBRESOURCES
    return info.path.startswith("/debug/pprof/")
