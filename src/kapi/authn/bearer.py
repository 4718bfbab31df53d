"""Bearer tokens: finding the token in a request, and asking who it belongs to."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kapi.api.call import Call
from kapi.api.errors import Unauthorized
from kapi.api.user import User

EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class TokenAuthenticator(Protocol):
    async def authenticate_token(self, token: str) -> User | None:
        """The token's user; None when it is not of this kind; Unauthorized when it is, but bad."""


class BearerToken:
    """Asks each kind of token in turn; a token that none of them knows is a bad one."""

    def __init__(self, kinds: Sequence[TokenAuthenticator]) -> None:
        self._kinds = tuple(kinds)

    async def authenticate(self, call: Call) -> User | None:
        header = call.request.headers.get("authorization")
        if not header:
            return None
        parts = header.strip().split(" ", 2)
        if len(parts) < 2 or parts[0].lower() != "bearer":
            return None
        token = parts[1]
        if not token:
            if len(parts) == 3:
                call.warn(EXTRA_SPACE)
            return None
        failure = "invalid bearer token"
        for kind in self._kinds:
            try:
                user = await kind.authenticate_token(token)
            except Unauthorized as error:
                failure = error.message
                continue
            if user is not None:
                return user
        raise Unauthorized(failure)
