"""The audit ID: every request has one, given by the client or made here, and every answer repeats it."""

from __future__ import annotations

from random import getrandbits

from kapi.api.call import Call
from kapi.filters.handler import CallHandler, add_header
from kapi.wire.messages import Response

_LONGEST = 256
_VARIANT = ~(0xF000 << 64 | 0xC000 << 48)
_VERSION_4 = 0x4000 << 64 | 0x8000 << 48


def with_audit_id(next: CallHandler) -> CallHandler:
    async def handle(call: Call) -> Response:
        given = call.request.headers.get("audit-id")
        if given and len(given) <= _LONGEST and given.isascii() and given.isprintable():
            call.audit_id = given
        else:
            call.audit_id = _new_id()
        response = await next(call)
        add_header(response, b"audit-id", call.audit_id.encode())
        return response

    return handle


def _new_id() -> str:
    """A random UUID; `uuid.uuid4` asks the kernel each time, which this need not."""
    text = f"{getrandbits(128) & _VARIANT | _VERSION_4:032x}"
    return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"
