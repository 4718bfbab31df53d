"""Bearer tokens: finding the token in a request, and asking who it belongs to."""

from __future__ import annotations

from kapi.api.call import Call
from kapi.api.user import User
from kapi.authn.tokens import Tokens, introduce

EXTRA_SPACE = "the provided Authorization header contains extra space before the bearer token, and is ignored"


class BearerToken:
    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def at_once(self, call: Call) -> User | None:
        token = _token(call)
        found = self._tokens.remembered(token) if token else None
        return None if found is None else introduce(call, found)

    async def authenticate(self, call: Call) -> User | None:
        token = _token(call)
        return introduce(call, await self._tokens.authenticate(token)) if token else None


def _token(call: Call) -> str:
    header = call.request.headers.get("authorization")
    if not header:
        return ""
    parts = header.strip().split(" ", 2)
    if len(parts) < 2 or parts[0].lower() != "bearer":
        return ""
    if not parts[1] and len(parts) == 3:
        call.warn(EXTRA_SPACE)
    return parts[1]
