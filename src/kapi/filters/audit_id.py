"""The audit ID: every request has one, given by the client or made here, and every answer repeats it."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.api.uid import new_uid
from kapi.filters.handler import CallHandler
from kapi.wire.messages import Response

_LONGEST = 256


def with_audit_id(next: CallHandler) -> CallHandler:
    def handle(call: Call) -> Awaitable[Response]:
        given = call.request.headers.get("audit-id")
        if given and len(given) <= _LONGEST and given.isascii() and given.isprintable():
            call.audit_id = given
        else:
            call.audit_id = new_uid()
        call.headers.append((b"audit-id", call.audit_id.encode()))
        return next(call)

    return handle
