"""May this user do this? The question, its answers, and who may be asked.

The attributes of a request are its RequestInfo; a review of somebody else's access builds one by hand.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol

from kapi.api.objects import Object
from kapi.api.request_info import RequestInfo
from kapi.api.user import User


class Decision(Enum):
    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


class Verdict(NamedTuple):
    """`error` tells what went wrong on the way: who is not allowed then may have been, had it not."""

    decision: Decision
    reason: str = ""
    error: str = ""


ALLOW = Verdict(Decision.ALLOW)
NO_OPINION = Verdict(Decision.NO_OPINION)


class KnownRules(NamedTuple):
    """What an authorizer would allow somebody. `problem` tells why some may be missing; `incomplete` that some are."""

    rules: list[Object]
    incomplete: bool = False
    problem: str = ""


class RuleSource(Protocol):
    async def known_rules(self, user: User, namespace: str) -> KnownRules:
        """The policy rules of this user in the namespace, those of the cluster included."""


class Authorizer(Protocol):
    """Every request asks; what can be told without waiting spares it a coroutine."""

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict | None:
        """The verdict, or None when `authorize` has to be asked."""

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict: ...


class PromptAuthorizer:
    """An authorizer that never waits."""

    def at_once(self, user: User, attributes: RequestInfo) -> Verdict:
        raise NotImplementedError

    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict:
        return self.at_once(user, attributes)
