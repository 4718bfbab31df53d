"""Authorization: may they? A refusal says who could not do what, where."""

from __future__ import annotations

import json

from kapi.api.authorizer import Authorizer, Decision
from kapi.api.call import Call
from kapi.api.errors import Forbidden
from kapi.api.gvk import GroupResource
from kapi.api.request_info import RequestInfo
from kapi.api.user import User
from kapi.filters.handler import CallHandler, refuse
from kapi.telemetry.requests import RequestMetrics
from kapi.wire.messages import Response

_ALLOWED = ("allowed",)
_DENIED = ("denied",)
_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


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


def forbidden(user: User, attributes: RequestInfo, reason: str) -> Forbidden:
    why = _cannot(user, attributes).translate(_HTML)
    resource = GroupResource(attributes.api_group, attributes.resource)
    if not attributes.is_resource_request:
        resource = GroupResource("", "")
    return Forbidden(resource, attributes.name or attributes.selected_name, f"{why}: {reason}" if reason else why)


def _cannot(user: User, a: RequestInfo) -> str:
    who = f"User {_quote(user.name)} cannot {a.verb}"
    if not a.is_resource_request:
        return f"{who} path {_quote(a.path)}"
    resource = f"{a.resource}/{a.subresource}" if a.subresource else a.resource
    where = f"in the namespace {_quote(a.namespace)}" if a.namespace else "at the cluster scope"
    return f"{who} resource {_quote(resource)} in API group {_quote(a.api_group)} {where}"


def _quote(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
