"""Authorization for expressions: they ask at once, while authorizers may have to wait.

An evaluation that asks what is not known yet is given up; once the answer is there, it begins anew. So does one that
turns out to be long, in a thread.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from kapi.admission.patience import ENDLESS, Patience, TakesLong
from kapi.api.authorizer import Authorizer, Decision
from kapi.api.request_info import RequestInfo
from kapi.api.user import ALL_AUTHENTICATED, User

if TYPE_CHECKING:
    from kapi.cel.library.authorizer import Access
    from kapi.cel.library.authorizer import Decision as Answer

_T = TypeVar("_T")


class _Unknown(Exception):
    def __init__(self, access: Access) -> None:
        super().__init__(access)
        self.access = access


class Questions:
    """What the expressions of one request ask, each question once."""

    def __init__(self, authorizer: Authorizer, user: User) -> None:
        self._authorizer = authorizer
        self._user = user
        self._answers: dict[Access, Answer] = {}

    def decide(self, access: Access) -> Answer:
        """For evaluations that `settle` runs."""
        found = self._answers.get(access)
        if found is None:
            raise _Unknown(access)
        return found

    async def settle(self, evaluate: Callable[[Patience], _T]) -> _T:
        """What the evaluation comes to. It may be run several times, so it must change nothing."""
        is_long = False
        while True:
            try:
                return await asyncio.to_thread(evaluate, ENDLESS) if is_long else evaluate(Patience())
            except TakesLong:
                is_long = True
            except _Unknown as question:
                self._answers[question.access] = await self._ask(question.access)

    async def _ask(self, access: Access) -> Answer:
        from kapi.cel.library.authorizer import Decision as Answer  # whoever asks has loaded CEL

        verdict = await self._authorizer.authorize(_user(access, self._user), _attributes(access))
        return Answer(verdict.decision is Decision.ALLOW, verdict.reason, verdict.error or None)


def _user(access: Access, requester: User) -> User:
    if access.service_account is None:
        return requester
    namespace, name = access.service_account
    groups = ("system:serviceaccounts", f"system:serviceaccounts:{namespace}", ALL_AUTHENTICATED)
    return User(name=f"system:serviceaccount:{namespace}:{name}", groups=groups)


def _attributes(access: Access) -> RequestInfo:
    wanted = RequestInfo(access.path, access.verb)
    if access.path:
        return wanted
    wanted.is_resource_request = True
    wanted.api_group, wanted.api_version = access.group, "*"
    wanted.resource, wanted.subresource = access.resource, access.subresource
    wanted.namespace, wanted.name = access.namespace, access.name
    wanted.field_selector, wanted.label_selector = access.field_selector, access.label_selector
    return wanted
