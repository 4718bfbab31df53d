"""The one place where any exception is caught: it is logged, the client gets a 500, the process lives."""

from __future__ import annotations

import traceback

from kapi.api.call import Call
from kapi.api.errors import APIError
from kapi.codec.status import status_response
from kapi.filters.handler import CallHandler
from kapi.telemetry.log import Log
from kapi.wire.messages import ClientGone, Response


class Panic(APIError):
    code, reason = 500, "InternalError"

    def __init__(self) -> None:
        super().__init__("This request caused apiserver to panic. Look in the logs for details.")


def with_panic_recovery(next: CallHandler, log: Log) -> CallHandler:
    async def handle(call: Call) -> Response:
        try:
            response = await next(call)
        except ClientGone:
            raise
        except Exception:
            _report(log, call)
            return status_response(Panic())
        if response.stream is not None:
            _guard_stream(response, log, call)
        return response

    return handle


def _guard_stream(response: Response, log: Log, call: Call) -> None:
    stream = response.stream
    assert stream is not None

    async def run(output: object) -> None:
        try:
            await stream(output)  # type: ignore[arg-type]
        except ClientGone:
            raise
        except Exception:
            # The head is sent, so no status can tell: log, and break the response off.
            _report(log, call)
            raise ClientGone("the response was broken off") from None

    response.stream = run


def _report(log: Log, call: Call) -> None:
    request = call.request
    uri = f"{request.path}?{request.query}" if request.query else request.path
    log.error(
        "apiserver_panic", method=request.method, uri=uri, audit_id=call.audit_id, traceback=traceback.format_exc()
    )
