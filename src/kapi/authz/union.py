"""Several authorizers, asked in order: the first that allows or denies decides."""

from __future__ import annotations

from collections.abc import Sequence

from kapi.api.authorizer import Authorizer, Decision, Verdict
from kapi.api.request_info import RequestInfo
from kapi.api.user import User


class Union:
    """When none has an opinion, the reasons they gave are told together."""

    def __init__(self, authorizers: Sequence[Authorizer]) -> None:
        self._authorizers = tuple(authorizers)

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        reasons: list[str] = []
        for authorizer in self._authorizers:
            verdict = await authorizer.authorize(user, attributes)
            if verdict.decision is not Decision.NO_OPINION:
                return verdict
            if verdict.reason:
                reasons.append(verdict.reason)
        return Verdict(Decision.NO_OPINION, "\n".join(reasons))
