"""Webhook tokens: another server is asked, by a TokenReview, whose a token is; its answer is kept for a while.

Kept is the token's hash, never the token.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from kapi.api.clock import Clock
from kapi.api.errors import Unauthorized
from kapi.api.expiring import ExpiringCache
from kapi.api.objects import Object
from kapi.api.user import User
from kapi.authn.authenticator import as_authenticated
from kapi.authn.tokens import Authenticated, shared_audiences
from kapi.proxy.backoff import AUTH_BACKOFF, Backoff, with_backoff
from kapi.proxy.reviews import ReviewError, send_review
from kapi.telemetry.log import log
from kapi.wire.client import HTTPClient

TIMEOUT = 30.0
_MOST_KEPT = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class WebhookConfig:
    """`audiences` are those of this API: a webhook that names none means these. `ttl` is for how long answers hold."""

    version: str
    audiences: tuple[str, ...]
    ttl: float
    user_agent: bytes
    backoff: Backoff = AUTH_BACKOFF


class TokenWebhook:
    def __init__(self, client: HTTPClient, config: WebhookConfig, clock: Clock) -> None:
        self._client = client
        self._config = config
        # What is no token of the webhook's is kept as well.
        self._kept: ExpiringCache[tuple[bytes, tuple[str, ...]], tuple[Authenticated | None]] = ExpiringCache(
            _MOST_KEPT, clock
        )

    async def authenticate_token(self, token: str, audiences: tuple[str, ...]) -> Authenticated | None:
        key = (sha256(token.encode("utf-8", "surrogateescape")).digest(), audiences)
        kept = self._kept.get(key)
        if kept is not None:
            return kept[0]
        try:
            status = await with_backoff(self._config.backoff, lambda: self._ask(token, audiences))
        except ReviewError as error:
            # A webhook may send back what it was sent: the token is not told to whoever reads logs.
            problem = str(error).replace(token, "<token>")
            log.error("token_webhook_failed", error=problem)
            raise Unauthorized(problem) from None
        found = self._found(status, audiences)
        self._kept.put(key, (found,), self._config.ttl)
        return found

    async def _ask(self, token: str, audiences: tuple[str, ...]) -> Object:
        review: Object = {
            "kind": "TokenReview",
            "apiVersion": f"authentication.k8s.io/{self._config.version}",
            "metadata": {},
            "spec": {"token": token, **({"audiences": list(audiences)} if audiences else {})},
            "status": {"user": {}},
        }
        returned = await send_review(self._client, "", review, timeout=TIMEOUT, user_agent=self._config.user_agent)
        status: Object = _typed(returned.get("status") or {}, dict)
        return status

    def _found(self, status: Object, wanted: tuple[str, ...]) -> Authenticated | None:
        """As upstream: audiences come first, then whether the token is one."""
        try:
            named = tuple(_typed(a, str) for a in _typed(status.get("audiences") or [], list))
            audiences = shared_audiences(named or self._config.audiences, wanted)
            if wanted and not audiences:
                return None
            if not _typed(status.get("authenticated") or False, bool):
                problem = _typed(status.get("error") or "", str)
                if problem:
                    raise Unauthorized(problem)
                return None
            return Authenticated(_user(_typed(status.get("user") or {}, dict)), audiences)
        except ReviewError as error:
            raise Unauthorized(str(error)) from None


def _user(info: Object) -> User:
    extra = _typed(info.get("extra") or {}, dict)
    return as_authenticated(
        User(
            name=_typed(info.get("username") or "", str),
            uid=_typed(info.get("uid") or "", str),
            groups=tuple(_typed(group, str) for group in _typed(info.get("groups") or [], list)),
            extra={key: tuple(_typed(v, str) for v in _typed(values or [], list)) for key, values in extra.items()},
        )
    )


def _typed(value: Any, wanted: type) -> Any:
    if not isinstance(value, wanted):
        raise ReviewError(f"json: cannot unmarshal {type(value).__name__} of the token review's status")
    return value
