"""What a filter takes and gives: a handler of calls; and how a filter refuses one.

A filter is a function from the next handler (and just what it needs) to a handler. A filter that only looks at the
request is a plain function which returns the next handler's awaitable: it adds no frame to await through.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import TypeAlias

from kapi.api.call import Call
from kapi.api.errors import APIError
from kapi.api.fields import go_quote
from kapi.authn.authenticator import TrustedIdentity
from kapi.codec.status import status_response
from kapi.wire.messages import Response, text

CallHandler: TypeAlias = Callable[[Call], Awaitable[Response]]
Wrap: TypeAlias = Callable[[CallHandler], CallHandler]

# Served to the end of a shutdown: probes must see it, scrapes must not miss it.
EXEMPT_FROM_SHUTDOWN = ("/readyz", "/livez", "/healthz", "/metrics")


async def refuse(call: Call, error: APIError) -> Response:
    """The answer of a filter that does not pass the call on."""
    return status_response(error, call.request.headers.get("accept"))


async def forbid(call: Call, error: APIError) -> Response:
    """As upstream's responsewriters.RespondWithError: what is said may not be taken for anything else."""
    response = await refuse(call, error)
    response.headers.append((b"x-content-type-options", b"nosniff"))
    return response


async def too_many_requests(retry_after: int = 1, headers: Sequence[tuple[bytes, bytes]] = ()) -> Response:
    """As upstream: plain text, because a Status costs more, and this is said when the server is at its limits."""
    waits = (b"retry-after", b"%d" % retry_after)
    return text(429, "Too many requests, please try again later.\n", [waits, *headers])


def internal_error(target: str, error: str) -> Response:
    """As upstream's responsewriters.InternalError: plain text, safe to be taken for HTML."""
    said = f"Internal Server Error: {go_quote(target)}: {error}"
    for character, entity in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        said = said.replace(character, entity)
    return text(500, f"{said}\n")


def unchanged(handler: CallHandler) -> CallHandler:
    """A wrap that adds nothing."""
    return handler


def exempt_from_shutdown(call: Call) -> bool:
    """Probes, scrapes, and what the server asks of itself: hooks and controllers must be able to clean up."""
    if call.request.connection.identity.__class__ is TrustedIdentity:
        return True
    return call.request.path.startswith(EXEMPT_FROM_SHUTDOWN)
