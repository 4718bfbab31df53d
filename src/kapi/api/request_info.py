"""What a request's method and path mean: as upstream's RequestInfoFactory reads them."""

from __future__ import annotations

import re
from urllib.parse import parse_qs, unquote

from kapi.api.names import path_segment
from kapi.api.selectors import InvalidSelector, parse_field_selector

_VERBS = {"POST": "create", "GET": "get", "HEAD": "get", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
# Subresources of namespaces that are not resources inside the namespace.
_NAMESPACE_SUBRESOURCES = frozenset(("status", "finalize"))
_SPECIAL_VERBS = frozenset(("proxy", "watch"))
_SELECTING_VERBS = frozenset(("list", "watch", "deletecollection"))
_SPECIAL_VERBS_NO_SUBRESOURCES = frozenset(("proxy",))


_BAD_ESCAPE = re.compile(r"%(?![0-9A-Fa-f]{2})").search


class RequestInfo:
    """The parsed request line. `resource` is empty for non-resource requests, whose `verb` is the lower-case method.

    A list that selects one object by its name names it, as far as authorization is concerned, by `selected_name`.
    """

    __slots__ = (
        "api_group",
        "api_prefix",
        "api_version",
        "field_selector",
        "is_resource_request",
        "label_selector",
        "name",
        "namespace",
        "parts",
        "path",
        "resource",
        "selected_name",
        "subresource",
        "verb",
    )

    def __init__(self, path: str, verb: str) -> None:
        self.path = path
        self.verb = verb
        self.is_resource_request = False
        self.api_prefix = self.api_group = self.api_version = ""
        self.namespace = self.resource = self.subresource = self.name = ""
        self.field_selector = self.label_selector = self.selected_name = ""
        self.parts: list[str] = []

    def with_verb(self, verb: str) -> RequestInfo:
        """The same request, had it another verb."""
        copy = RequestInfo(self.path, verb)
        for field in self.__slots__:
            if field != "verb":
                setattr(copy, field, getattr(self, field))
        return copy


def parse_query(query: str) -> dict[str, list[str]]:
    if not query:
        return {}
    if ";" in query or _BAD_ESCAPE(query):
        # As Go: a pair that cannot be read is left out.
        query = "&".join(pair for pair in query.split("&") if ";" not in pair and not _BAD_ESCAPE(pair))
    return parse_qs(query, keep_blank_values=True)


class BadRequestPath(ValueError):
    """The path begins like an API path but names nothing."""


def parse_request_info(method: str, raw_path: str, params: dict[str, list[str]]) -> RequestInfo:
    path = unquote(raw_path) if "%" in raw_path else raw_path
    info = RequestInfo(path, method.lower())
    # Split after decoding, as upstream: an encoded slash separates like a plain one.
    segments = path.strip("/").split("/")
    if segments[0] not in ("api", "apis") or len(segments) < (3 if segments[0] == "api" else 4):
        return _prefix_only(info, segments)
    info.api_prefix = segments[0]
    rest = segments[1:]
    if info.api_prefix == "apis":
        info.api_group = rest.pop(0)
    info.api_version = rest.pop(0)
    info.is_resource_request = True
    info.verb = _VERBS.get(method, "")
    verb_in_path = rest[0] in _SPECIAL_VERBS
    if verb_in_path:
        if len(rest) < 2:
            raise BadRequestPath(f"unable to determine kind and namespace from url, {path}")
        info.verb = rest.pop(0)
    if rest[0] == "namespaces" and len(rest) > 1:
        info.namespace = rest[1]
        if len(rest) > 2 and rest[2] not in _NAMESPACE_SUBRESOURCES:
            rest = rest[2:]
    info.parts = rest
    info.resource = rest[0]
    if len(rest) > 1:
        info.name = rest[1]
    if len(rest) > 2 and info.verb not in _SPECIAL_VERBS_NO_SUBRESOURCES:
        info.subresource = rest[2]
    if not info.name and info.verb == "get":
        info.verb = "watch" if _true(params.get("watch")) else "list"
    elif not info.name and info.verb == "delete":
        info.verb = "deletecollection"
    if params and not info.name:
        if "fieldSelector" in params:
            _select(info, params["fieldSelector"][0])
        # As upstream: requests with their verb in the path do not all select, so nobody is asked about it.
        if "labelSelector" in params and info.verb in _SELECTING_VERBS and not verb_in_path:
            info.label_selector = params["labelSelector"][0]
    return info


def _select(info: RequestInfo, selector: str) -> None:
    """Collections only; a selector that cannot be read is refused by whoever serves the request."""
    info.field_selector = selector
    if info.verb == "deletecollection":
        return
    try:
        name = parse_field_selector(selector).exact("metadata.name")
    except InvalidSelector:
        return
    if name and not path_segment(name):
        info.selected_name = name


def _prefix_only(info: RequestInfo, segments: list[str]) -> RequestInfo:
    """`/api/v1`, `/apis/apps/v1`: not about a resource, but the group-version is known."""
    if segments[0] == "api" and len(segments) == 2:
        info.api_prefix, info.api_version = segments
    elif segments[0] == "apis" and len(segments) == 3:
        info.api_prefix, info.api_group, info.api_version = segments
    return info


def _true(values: list[str] | None) -> bool:
    """As conversion of a query parameter to bool: present and not false or 0."""
    return bool(values) and values[0].lower() not in ("false", "0")  # type: ignore[index]
