"""May this user do this? The question, its answers, and who may be asked.

The attributes of a request are its RequestInfo; a review of somebody else's access builds one by hand.
"""

from __future__ import annotations

from enum import Enum
from typing import NamedTuple, Protocol

from kapi.api.request_info import RequestInfo
from kapi.api.user import User


class Decision(Enum):
    ALLOW = "allow"
    DENY = "deny"
    NO_OPINION = "no opinion"


class Verdict(NamedTuple):
    decision: Decision
    reason: str = ""


ALLOW = Verdict(Decision.ALLOW)
NO_OPINION = Verdict(Decision.NO_OPINION)


class Authorizer(Protocol):
    async def authorize(self, user: User, attributes: RequestInfo) -> Verdict: ...
