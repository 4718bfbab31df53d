"""Authorization: may they? A refusal says who could not do what, where.

As upstream, who is not allowed because of an error is not refused: that the question could not be answered is a 500.
"""

from __future__ import annotations

from kapi.api.authorizer import Authorizer, Decision
from kapi.api.call import Call
from kapi.api.refusal import forbidden
from kapi.filters.handler import CallHandler, internal_error, refuse
from kapi.telemetry.requests import RequestMetrics
from kapi.wire.messages import Response

_ALLOWED = ("allowed",)
_DENIED = ("denied",)
_ERROR = ("error",)


def with_authorization(next: CallHandler, authorizer: Authorizer, metrics: RequestMetrics) -> CallHandler:
    attempts = metrics.authorizations

    async def handle(call: Call) -> Response:
        verdict = await authorizer.authorize(call.user, call.info)
        annotations = call.annotations
        annotations["authorization.k8s.io/reason"] = verdict.reason
        if verdict.decision is Decision.ALLOW:
            attempts.inc(_ALLOWED)
            annotations["authorization.k8s.io/decision"] = "allow"
            return await next(call)
        if verdict.error:
            attempts.inc(_ERROR)
            annotations["authorization.k8s.io/reason"] = "internal error"
            target = f"{call.request.path}?{call.request.query}" if call.request.query else call.request.path
            return internal_error(target, verdict.error)
        attempts.inc(_DENIED)
        annotations["authorization.k8s.io/decision"] = "forbid"
        response = await refuse(call, forbidden(call.user, call.info, verdict.reason))
        response.headers.append((b"x-content-type-options", b"nosniff"))
        return response

    return handle
