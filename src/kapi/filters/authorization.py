"""Authorization: may they? A refusal says who could not do what, where."""

from __future__ import annotations

from kapi.api.authorizer import Authorizer, Decision
from kapi.api.call import Call
from kapi.api.refusal import forbidden
from kapi.filters.handler import CallHandler, refuse
from kapi.telemetry.requests import RequestMetrics
from kapi.wire.messages import Response

_ALLOWED = ("allowed",)
_DENIED = ("denied",)


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
        attempts.inc(_DENIED)
        annotations["authorization.k8s.io/decision"] = "forbid"
        response = await refuse(call, forbidden(call.user, call.info, verdict.reason))
        response.headers.append((b"x-content-type-options", b"nosniff"))
        return response

    return handle
