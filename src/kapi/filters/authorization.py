"""Authorization: may they? A refusal says who could not do what, where.

As upstream, who is not allowed because of an error is not refused: that the question could not be answered is a 500.
"""

from __future__ import annotations

from collections.abc import Awaitable
from time import perf_counter

from kapi.api.authorizer import Authorizer, Decision, Verdict
from kapi.api.call import Call
from kapi.api.refusal import forbidden
from kapi.filters.handler import CallHandler, forbid, internal_error
from kapi.telemetry.requests import RequestMetrics
from kapi.wire.messages import Response

# Looked up with every request; a member of an Enum is found more slowly.
ALLOW = Decision.ALLOW
_ALLOWED = ("allowed",)
_DENIED = ("denied",)
_ERROR = ("error",)


def with_authorization(next: CallHandler, authorizer: Authorizer, metrics: RequestMetrics) -> CallHandler:
    attempts = metrics.authorizations

    def handle(call: Call) -> Awaitable[Response]:
        verdict = authorizer.at_once(call.user, call.info)
        return allow(call, verdict) if verdict is not None and verdict.decision is ALLOW else ask(call)

    async def ask(call: Call) -> Response:
        began = perf_counter()
        verdict = await authorizer.authorize(call.user, call.info)
        if call.audit is not None:
            call.audit.spent("authorization", perf_counter() - began)
        return await (allow(call, verdict) if verdict.decision is ALLOW else turn_away(call, verdict))

    def allow(call: Call, verdict: Verdict) -> Awaitable[Response]:
        annotations = call.annotations
        annotations["authorization.k8s.io/reason"] = verdict.reason
        annotations["authorization.k8s.io/decision"] = "allow"
        attempts.inc(_ALLOWED)
        return next(call)

    async def turn_away(call: Call, verdict: Verdict) -> Response:
        annotations = call.annotations
        annotations["authorization.k8s.io/reason"] = verdict.reason
        if verdict.error:
            attempts.inc(_ERROR)
            annotations["authorization.k8s.io/reason"] = "internal error"
            target = f"{call.request.path}?{call.request.query}" if call.request.query else call.request.path
            return internal_error(target, verdict.error)
        attempts.inc(_DENIED)
        annotations["authorization.k8s.io/decision"] = "forbid"
        return await forbid(call, forbidden(call.user, call.info, verdict.reason))

    return handle
