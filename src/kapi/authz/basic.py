"""The authorizers without rules: all, nothing, the privileged group, paths open to everyone."""

from __future__ import annotations

from collections.abc import Iterable

from kapi.api.authorizer import ALLOW, NO_OPINION, Decision, KnownRules, PromptAuthorizer, Verdict
from kapi.api.request_info import RequestInfo
from kapi.api.user import SYSTEM_PRIVILEGED_GROUP, User

# What everyone may GET: whether the server lives and is ready.
HEALTH_PATHS = ("/healthz", "/livez", "/readyz")

_FORBIDDEN = Verdict(Decision.NO_OPINION, "Everything is forbidden.")


class AlwaysAllow(PromptAuthorizer):
    def at_once(self, user: User, attributes: RequestInfo) -> Verdict:
        return ALLOW

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        return KnownRules(
            [
                {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
                {"verbs": ["*"], "nonResourceURLs": ["*"]},
            ]
        )


class AlwaysDeny(PromptAuthorizer):
    """As upstream, it has no opinion rather than a veto: an authorizer after it may still allow."""

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict:
        return _FORBIDDEN

    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        return KnownRules([])


class PrivilegedGroup(PromptAuthorizer):
    """Members of system:masters may do everything."""

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict:
        return ALLOW if SYSTEM_PRIVILEGED_GROUP in user.groups else NO_OPINION


class AlwaysAllowPaths(PromptAuthorizer):
    """These non-resource paths may be read by everyone."""

    def __init__(self, paths: Iterable[str] = HEALTH_PATHS) -> None:
        self._paths = frozenset(paths)

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict:
        if attributes.is_resource_request or attributes.verb != "get" or attributes.path not in self._paths:
            return NO_OPINION
        return ALLOW
