"""Tokens of all kinds: each kind is asked in turn, and what was found is kept for a short while.

A token is good for some audiences; whoever asks names those it stands for. As upstream, a token that was accepted is
accepted for ten more seconds, whatever becomes of what it is bound to. Only its hash is kept.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple, Protocol

from kapi.api.call import Call
from kapi.api.clock import Clock, SystemClock
from kapi.api.errors import Unauthorized
from kapi.api.user import User

KEPT_SECONDS = 10.0
_MOST_KEPT = 10_000
INVALID = "invalid bearer token"


class Authenticated(NamedTuple):
    """Whose a token is, the audiences it is good for among those asked for, what its bearer is warned of, and what the
    audit log is told."""

    user: User
    audiences: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: Mapping[str, str] = {}


class TokenAuthenticator(Protocol):
    async def authenticate_token(self, token: str, audiences: tuple[str, ...]) -> Authenticated | None:
        """None when the token is not of this kind; Unauthorized when it is, but bad."""


class Tokens:
    """`audiences` are those of this API, which requests stand for."""

    def __init__(
        self, kinds: Sequence[TokenAuthenticator], audiences: tuple[str, ...] = (), clock: Clock | None = None
    ) -> None:
        self.audiences = audiences
        self._kinds = tuple(kinds)
        self._monotonic = (clock or SystemClock()).monotonic
        self._kept: dict[tuple[bytes, tuple[str, ...]], tuple[float, Authenticated]] = {}

    def remembered(self, token: str, audiences: tuple[str, ...] = ()) -> Authenticated | None:
        """What was found a moment ago."""
        kept = self._kept.get(_key(token, audiences or self.audiences))
        return kept[1] if kept is not None and self._monotonic() < kept[0] else None

    async def authenticate(self, token: str, audiences: tuple[str, ...] = ()) -> Authenticated:
        """Unauthorized says all that was wrong with the token."""
        remembered = self.remembered(token, audiences)
        if remembered is not None:
            return remembered
        wanted = audiences or self.audiences
        expires = self._monotonic() + KEPT_SECONDS
        found = await self._ask(token, wanted)
        if len(self._kept) >= _MOST_KEPT:
            self._kept.clear()
        self._kept[_key(token, wanted)] = (expires, found)
        return found

    async def _ask(self, token: str, wanted: tuple[str, ...]) -> Authenticated:
        failures = [INVALID]
        for kind in self._kinds:
            try:
                found = await kind.authenticate_token(token, wanted)
            except Unauthorized as error:
                failures.append(error.message)
                continue
            if found is not None:
                return found
        raise Unauthorized(failures[0] if len(failures) == 1 else f"[{', '.join(failures)}]")


def introduce(call: Call, found: Authenticated) -> User:
    """Whose request this is; what is known besides goes to the client and the audit log."""
    for warning in found.warnings:
        call.warn(warning)
    if found.notes:
        call.annotations.update(found.notes)
    return found.user


def _key(token: str, audiences: tuple[str, ...]) -> tuple[bytes, tuple[str, ...]]:
    return sha256(token.encode("utf-8", "surrogateescape")).digest(), audiences


def shared_audiences(own: Sequence[str], wanted: Sequence[str]) -> tuple[str, ...]:
    """In the order in which they are wanted."""
    return tuple(audience for audience in wanted if audience in own)


def for_own_audiences(user: User, own: Sequence[str], wanted: tuple[str, ...]) -> Authenticated | None:
    """A token that knows no audience is good for those of this API; None when others are wanted."""
    if not wanted:
        return Authenticated(user)
    shared = shared_audiences(own, wanted)
    return Authenticated(user, shared) if shared else None
