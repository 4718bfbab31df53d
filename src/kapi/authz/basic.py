"""The authorizers without rules: all, nothing, the privileged group, paths open to everyone."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.api.authorizer import ALLOW, NO_OPINION, Decision, KnownRules, Verdict
from kapi.api.request_info import RequestInfo
from kapi.api.user import SYSTEM_PRIVILEGED_GROUP, User

# What everyone may GET: whether the server lives and is ready.
HEALTH_PATHS = ("/healthz", "/livez", "/readyz")

_FORBIDDEN = Verdict(Decision.NO_OPINION, "Everything is forbidden.")


class AlwaysAllow:
    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        return ALLOW

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        return KnownRules(
            [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
                {"verbs": ["*"], "nonResourceURLs": ["*"]},
            ]
        )


class AlwaysDeny:
    """As upstream, it has no opinion rather than a veto: an authorizer after it may still allow."""

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        return _FORBIDDEN

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        return KnownRules([])


class PrivilegedGroup:
    """Members of system:masters may do everything."""

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        return ALLOW if SYSTEM_PRIVILEGED_GROUP in user.groups else NO_OPINION


class AlwaysAllowPaths:
    """These non-resource paths may be read by everyone."""

    def __init__(self, paths: Iterable[str] = HEALTH_PATHS) -> None:
        self._paths = frozenset(paths)

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        if attributes.is_resource_request or attributes.verb != "get" or attributes.path not in self._paths:
            return NO_OPINION
        return ALLOW
