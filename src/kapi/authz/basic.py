"""The authorizers without rules: all, nothing, the privileged group."""

from __future__ import annotations

from kapi.api.authorizer import ALLOW, NO_OPINION, Decision, KnownRules, PromptAuthorizer, Verdict
from kapi.api.request_info import RequestInfo
from kapi.api.user import SYSTEM_PRIVILEGED_GROUP, User

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
