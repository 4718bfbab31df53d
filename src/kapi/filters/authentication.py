"""Authentication: who asks. Without an answer to that, 401."""

from __future__ import annotations

from collections.abc import Awaitable

from kapi.api.call import Call
from kapi.api.errors import Unauthorized
from kapi.api.user import ALL_UNAUTHENTICATED, ANONYMOUS, User
from kapi.authn.authenticator import Authenticator, TrustedIdentity
from kapi.filters.handler import CallHandler, refuse
from kapi.telemetry.log import Log
from kapi.telemetry.requests import RequestMetrics
from kapi.wire.messages import Response


async def unauthorized(call: Call) -> Response:
    return await refuse(call, Unauthorized())


def with_authentication(
    next: CallHandler,
    authenticator: Authenticator,
    metrics: RequestMetrics,
    log: Log,
    failed: CallHandler = unauthorized,
) -> CallHandler:
    attempts = metrics.authentications

    def handle(call: Call) -> Awaitable[Response]:
        identity = call.request.connection.identity
        if identity.__class__ is TrustedIdentity:
            call.user = identity.user
            return next(call)
        user = authenticator.at_once(call)
        if user is None:
            return ask(call)
        attempts.inc(_SUCCESS)
        call.user = user
        return next(call)

    async def ask(call: Call) -> Response:
        try:
            user = await authenticator.authenticate(call)
        except Unauthorized as error:
            log.debug(1, "unable_to_authenticate", reason=error.message, audit_id=call.audit_id)
            user = None
        attempts.inc(_FAILURE if user is None else _SUCCESS)
        if call.request.protocol == "HTTP/2.0" and (user is None or _anonymous(user)):
            # HTTP/2 is costly to serve: whoever is not known gets one request per connection, as upstream.
            call.request.connection.go_away()
        if user is None:
            return await failed(call)
        call.user = user
        return await next(call)

    return handle


_SUCCESS = ("success",)
_FAILURE = ("failure",)


def _anonymous(user: User) -> bool:
    return user.name == ANONYMOUS or ALL_UNAUTHENTICATED in user.groups
