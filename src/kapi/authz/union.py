"""Several authorizers, asked in order: the first that allows or denies decides."""

from __future__ import annotations

from collections.abc import Sequence

from kapi.api.authorizer import Authorizer, Decision, Verdict
from kapi.api.request_info import RequestInfo
from kapi.api.user import User


class Union:
    """When none has an opinion, the reasons they gave are told together, after their authorizers' names if given."""

    def __init__(self, authorizers: Sequence[Authorizer], names: Sequence[str] = ()) -> None:
        padded = (*names, *("" for _ in authorizers[len(names) :]))
        self._authorizers = tuple((a.authorize, name) for a, name in zip(authorizers, padded, strict=True))

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        reasons: list[str] = []
        for authorize, name in self._authorizers:
            verdict = await authorize(user, attributes)
            if verdict.decision is not Decision.NO_OPINION:
                return verdict
            if verdict.reason:
                reasons.append(f"{name}: {verdict.reason}" if name else verdict.reason)
        return Verdict(Decision.NO_OPINION, "\n".join(reasons))
