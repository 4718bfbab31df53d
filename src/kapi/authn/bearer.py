"""Bearer tokens: finding the token in a request, and asking who it belongs to."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.user import User
from kapi.authn.tokens import Tokens

EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class BearerToken:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

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
        found = await self._tokens.authenticate(token)
        for warning in found.warnings:
            call.warn(warning)
        return found.user
