"""How somebody is told that they may not."""

from __future__ import annotations

from kapi.api.errors import Forbidden
from kapi.api.fields import go_quote
from kapi.api.gvk import GroupResource
from kapi.api.request_info import RequestInfo
from kapi.api.user import User

_HTML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})


def forbidden(user: User, attributes: RequestInfo, reason: str) -> Forbidden:
    """Who could not do what, where, and why if that is known."""
    why = _cannot(user, attributes).translate(_HTML)
    resource = GroupResource(attributes.api_group, attributes.resource)
    if not attributes.is_resource_request:
        resource = GroupResource("", "")
    name = attributes.name or attributes.selected_name
    return Forbidden(resource, name, f"{why}: {reason}" if reason else why)


def _cannot(user: User, a: RequestInfo) -> str:
    who = f"User {go_quote(user.name)} cannot {a.verb}"
    if not a.is_resource_request:
        return f"{who} path {go_quote(a.path)}"
    resource = f"{a.resource}/{a.subresource}" if a.subresource else a.resource
    where = f"in the namespace {go_quote(a.namespace)}" if a.namespace else "at the cluster scope"
    return f"{who} resource {go_quote(resource)} in API group {go_quote(a.api_group)} {where}"
