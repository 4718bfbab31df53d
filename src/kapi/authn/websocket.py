"""Tokens of WebSocket clients in browsers, which cannot set headers: one of the subprotocols they offer holds it."""

from __future__ import annotations

import binascii
from base64 import b64decode

from kapi.api.call import Call
from kapi.api.errors import Unauthorized
from kapi.api.user import User
from kapi.authn.tokens import Tokens, introduce

PREFIX = "base64url.bearer.authorization.k8s.io."


class WebSocketToken:
    """The protocol with the token must be one of several: another is needed to be chosen."""

    def __init__(self, tokens: Tokens) -> None:
        self._tokens = tokens

    def at_once(self, call: Call) -> User | None:
        return None

    async def authenticate(self, call: Call) -> User | None:
        headers = call.request.headers
        offered = headers.get("sec-websocket-protocol")
        if not offered or PREFIX not in offered or (headers.get("upgrade") or "").lower() != "websocket":
            return None
        protocols = [name.strip() for value in headers.get_all("sec-websocket-protocol") for name in value.split(",")]
        encoded = [name.removeprefix(PREFIX) for name in protocols if name.startswith(PREFIX)]
        if len(encoded) > 1:
            raise Unauthorized("multiple base64.bearer.authorization tokens specified")
        token = _decoded(encoded[0]) if encoded else ""
        if encoded and len(protocols) == 1:
            raise Unauthorized("missing additional subprotocol")
        if not token:
            return None
        return introduce(call, await self._tokens.authenticate(token))


def _decoded(encoded: str) -> str:
    try:
        if "=" in encoded:
            raise ValueError("padding")
        content = b64decode(encoded + "=" * (-len(encoded) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise Unauthorized("invalid base64.bearer.authorization token encoding") from None
    try:
        return content.decode()
    except UnicodeDecodeError:
        raise Unauthorized("invalid base64.bearer.authorization token") from None
