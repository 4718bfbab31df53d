"""Impersonation: whoever may, acts as somebody else. Below this filter, they are.

Either each part of the other's identity may be taken (`impersonate` on users, groups, …), or, more narrowly, the
identity may be taken for just this kind of request (`impersonate:<mode>` on the identity, together with
`impersonate-on:<mode>:<verb>` on what is requested). The narrow modes are asked first.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import replace
from time import perf_counter

from kapi.api.authorizer import Authorizer, Decision
from kapi.api.call import Call
from kapi.api.errors import APIError, BadRequest, Forbidden
from kapi.api.fields import go_quote
from kapi.api.names import dns_label, dns_subdomain
from kapi.api.refusal import forbidden
from kapi.api.request_info import RequestInfo
from kapi.api.user import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, SYSTEM_PRIVILEGED_GROUP, User
from kapi.authn.request_header import unescape_key
from kapi.filters.handler import CallHandler, forbid
from kapi.filters.impersonated_extra import extra_problem
from kapi.wire.messages import Headers, Response

USER, UID, GROUP, EXTRA = "impersonate-user", "impersonate-uid", "impersonate-group", "impersonate-extra-"
_AUTHENTICATION = "authentication.k8s.io"
_NODE_NAME = "authentication.kubernetes.io/node-name"
_NODE_PREFIX, _ACCOUNT_PREFIX = "system:node:", "system:serviceaccount:"
# From so many values on, one question about all of them is tried first.
_MANY = 4
_MOST_REQUESTERS = 10_000


def with_impersonation(next: CallHandler, authorizer: Authorizer) -> CallHandler:
    last_modes: dict[str, str] = {}  # by requester: the one that worked last is tried first, and its refusal told

    def handle(call: Call) -> Awaitable[Response]:
        return impersonate(call) if call.request.headers.mentions(b"impersonate-") else next(call)

    async def impersonate(call: Call) -> Response:
        began = perf_counter()
        try:
            wanted = _wanted(call.request.headers)  # type: ignore[arg-type]
            if wanted is not None:
                call.user = await _impersonated(authorizer, call, wanted, last_modes)
                if call.audit is not None:
                    call.audit.spent("impersonation", perf_counter() - began)
        except APIError as error:
            return await forbid(call, error)
        return await next(call)

    return handle


def _wanted(headers: Headers) -> User | None:
    """Just what the headers say."""
    extra: dict[str, tuple[str, ...]] = {}
    for name in headers.names():
        if name.startswith(EXTRA):
            key = unescape_key(name[len(EXTRA) :])
            extra[key] = extra.get(key, ()) + tuple(headers.get_all(name))
    wanted = User(
        name=headers.get(USER) or "", uid=headers.get(UID) or "", groups=tuple(headers.get_all(GROUP)), extra=extra
    )
    if not wanted.name and (wanted.uid or wanted.groups or extra):
        raise BadRequest(f"requested {_go_user(wanted)} without impersonating a user name")
    return wanted if wanted.name else None


async def _impersonated(authorizer: Authorizer, call: Call, wanted: User, last_modes: dict[str, str]) -> User:
    refused: Forbidden | None = None
    requester = call.user.name
    modes = _modes(wanted, call.user)
    modes.sort(key=lambda mode: mode != last_modes.get(requester))
    for mode in modes:
        try:
            user = await _Check(authorizer, call, wanted, mode).run()
        except Forbidden as error:
            refused = refused or error
            continue
        if len(last_modes) >= _MOST_REQUESTERS:
            last_modes.clear()
        last_modes[requester] = mode
        if call.audit is not None:
            call.audit.impersonated(user, f"impersonate:{mode}" if mode else "")
        return user
    assert refused is not None, "the last mode applies to everybody"
    raise refused


def _modes(wanted: User, requester: User) -> list[str]:
    """The ways in which this identity might be taken; the last, without a name, is the one that knows no constraint."""
    only_name = not (wanted.uid or wanted.groups or wanted.extra)
    node, account = node_name(wanted.name), account_name(wanted.name)
    if node is not None:
        if not only_name:
            return [""]
        # A service account that runs on a node may be allowed to act as just that one.
        runs_there = account_name(requester.name) and requester.extra.get(_NODE_NAME) == (node,)
        return ["associated-node", "arbitrary-node", ""] if runs_there else ["arbitrary-node", ""]
    if account is not None:
        return ["serviceaccount", ""] if only_name else [""]
    return ["user-info", ""]


class _Check:
    """Whether one requester may take an identity in one mode."""

    def __init__(self, authorizer: Authorizer, call: Call, wanted: User, mode: str) -> None:
        self._authorizer = authorizer
        self._info = call.info
        self._wanted = wanted
        self._mode = mode
        self._verb = f"impersonate:{mode}" if mode else "impersonate"
        self._requester = _anywhere(call.user) if mode == "associated-node" else call.user

    async def run(self) -> User:
        if self._mode:
            await self._ask(self._info.with_verb(f"impersonate-on:{self._mode}:{self._info.verb}"))
        groups = await self._name()
        if self._wanted.uid:
            await self._ask(self._attributes(_AUTHENTICATION, "uids", self._wanted.uid))
        if self._wanted.groups:
            await self._groups()
        if self._wanted.extra:
            await self._extra()
        return replace(self._wanted, groups=_with_standing(self._wanted.name, groups))

    async def _name(self) -> tuple[str, ...]:
        """The identity's groups, where the name decides them."""
        name, groups = self._wanted.name, self._wanted.groups
        attributes = self._attributes(_AUTHENTICATION if self._mode else "", "users", name)
        node, account = node_name(name), account_name(name)
        if self._mode and node is not None:
            attributes.resource = "nodes"
            attributes.name = "*" if self._mode == "associated-node" else node
            groups = ("system:nodes",)
        elif account is not None:
            attributes.resource = "serviceaccounts"
            attributes.namespace, attributes.name = account
            groups = groups or ("system:serviceaccounts", f"system:serviceaccounts:{account[0]}")
        await self._ask(attributes)
        return groups

    async def _groups(self) -> None:
        groups, group = self._wanted.groups, _AUTHENTICATION if self._mode else ""
        if self._mode:
            for forbidden_group, why in (
                ("", "impersonating the empty string group is not allowed"),
                (SYSTEM_PRIVILEGED_GROUP, "impersonating the system:masters group is not allowed"),
            ):
                if forbidden_group in groups:
                    raise forbidden(self._requester, self._attributes(group, "groups", forbidden_group), why)
            if len(groups) >= _MANY and await self._may(self._attributes(group, "groups", "*")):
                return
        for name in groups:
            await self._ask(self._attributes(group, "groups", name))

    async def _extra(self) -> None:
        extra = self._wanted.extra
        if self._mode:
            problem = extra_problem(extra)
            if problem:
                raise forbidden(self._requester, self._attributes(_AUTHENTICATION, "userextras", ""), problem)
            many = len(extra) >= _MANY or sum(map(len, extra.values())) >= _MANY
            if many and await self._may(self._attributes(_AUTHENTICATION, "userextras", "*", "*")):
                return
        for key, values in extra.items():
            for value in values:
                await self._ask(self._attributes(_AUTHENTICATION, "userextras", value, key))

    def _attributes(self, group: str, resource: str, name: str, subresource: str = "") -> RequestInfo:
        attributes = RequestInfo("", self._verb)
        attributes.is_resource_request = True
        attributes.api_group, attributes.api_version = group, "v1"
        attributes.resource, attributes.subresource, attributes.name = resource, subresource, name
        return attributes

    async def _may(self, attributes: RequestInfo) -> bool:
        return (await self._authorizer.authorize(self._requester, attributes)).decision is Decision.ALLOW

    async def _ask(self, attributes: RequestInfo) -> None:
        verdict = await self._authorizer.authorize(self._requester, attributes)
        if verdict.decision is not Decision.ALLOW:
            raise forbidden(self._requester, attributes, verdict.reason)


def _anywhere(requester: User) -> User:
    """A node's agent, without what tells it from the agents of other nodes."""
    return replace(
        requester, extra={"authentication.kubernetes.io/associated-node-keys": tuple(sorted(requester.extra))}
    )


def _with_standing(name: str, groups: tuple[str, ...]) -> tuple[str, ...]:
    if name == ANONYMOUS:
        return groups if ALL_UNAUTHENTICATED in groups else (*groups, ALL_UNAUTHENTICATED)
    if ALL_UNAUTHENTICATED in groups or ALL_AUTHENTICATED in groups:
        return groups
    return (*groups, ALL_AUTHENTICATED)


def node_name(user: str) -> str | None:
    name = user[len(_NODE_PREFIX) :] if user.startswith(_NODE_PREFIX) else ""
    return name if name and not dns_subdomain(name) else None


def account_name(user: str) -> tuple[str, str] | None:
    """Namespace and name of a service account's user name."""
    if not user.startswith(_ACCOUNT_PREFIX):
        return None
    namespace, _, name = user[len(_ACCOUNT_PREFIX) :].partition(":")
    return None if dns_label(namespace) or dns_subdomain(name) else (namespace, name)


def _go_user(user: User) -> str:
    """As Go prints one."""
    groups = f"[]string{{{', '.join(map(go_quote, user.groups))}}}" if user.groups else "[]string(nil)"
    extra = "map[string][]string(nil)"
    if user.extra:
        pairs = (f"{go_quote(k)}:[]string{{{', '.join(map(go_quote, v))}}}" for k, v in sorted(user.extra.items()))
        extra = f"map[string][]string{{{', '.join(pairs)}}}"
    name, uid = go_quote(user.name), go_quote(user.uid)
    return f"&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}"
