"""What authenticates: a Protocol, and the order in which several are asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Protocol

from kapi.api.call import Call
from kapi.api.errors import Unauthorized
from kapi.api.user import ALL_AUTHENTICATED, ALL_UNAUTHENTICATED, ANONYMOUS, User


class Authenticator(Protocol):
    def at_once(self, call: Call) -> User | None:
        """The user, as far as that can be told without waiting; None when `authenticate` has to be asked."""

    async def authenticate(self, call: Call) -> User | None:
        """The user; None when there is no credential of this kind; Unauthorized when there is a bad one."""


@dataclass(frozen=True, slots=True)
class TrustedIdentity:
    """A connection whose `identity` is this one was made by the server itself: no credential is asked for."""

    user: User


class Union:
    """Asks each in turn. A bad credential does not end the search, but nobody is anonymous after one."""

    def __init__(self, authenticators: Sequence[Authenticator], *, anonymous: Authenticator | None = None) -> None:
        self._authenticators = tuple(authenticators)
        self._anonymous = anonymous

    def at_once(self, call: Call) -> User | None:
        for authenticator in self._authenticators:
            try:
                user = authenticator.at_once(call)
            except Unauthorized:
                return None
            if user is not None:
                return user
        return None

    async def authenticate(self, call: Call) -> User | None:
        failures: list[str] = []
        for authenticator in self._authenticators:
            try:
                user = await authenticator.authenticate(call)
            except Unauthorized as error:
                failures.append(error.message)
                continue
            if user is not None:
                return user
        if failures:
            raise Unauthorized("; ".join(failures))
        return None if self._anonymous is None else await self._anonymous.authenticate(call)


def as_authenticated(user: User) -> User:
    """The user with the group of all who were authenticated, unless it is there or they were not."""
    groups = user.groups
    if user.name == ANONYMOUS or ALL_AUTHENTICATED in groups or ALL_UNAUTHENTICATED in groups:
        return user
    return replace(user, groups=(*groups, ALL_AUTHENTICATED))
