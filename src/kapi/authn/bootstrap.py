"""Bootstrap tokens: secrets in kube-system that let a node join before it has any other credential.

A token is `<id>.<secret>`. One that does not fit its secret is not of this kind, as upstream: only the log says why.
"""

from __future__ import annotations

import re
from base64 import b64decode
from hmac import compare_digest

from kapi.api.clock import Clock
from kapi.api.gvk import GroupResource
from kapi.api.objects import Object
from kapi.api.times import TimeError, parse_time
from kapi.api.user import User
from kapi.authn.authenticator import as_authenticated
from kapi.authn.service_account import Getter
from kapi.authn.tokens import Authenticated, for_own_audiences
from kapi.telemetry.log import log

_TOKEN = re.compile(r"([a-z0-9]{6})\.([a-z0-9]{16})")
_GROUP = re.compile(r"system:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]")
_NAMESPACE, _PREFIX, _TYPE = "kube-system", "bootstrap-token-", "bootstrap.kubernetes.io/token"
_USER_PREFIX, _DEFAULT_GROUP = "system:bootstrap:", "system:bootstrappers"
_SECRETS = GroupResource("", "secrets")


class BootstrapTokens:
    """`audiences` are those of this API: these tokens know none of their own."""

    def __init__(self, get: Getter, audiences: tuple[str, ...], clock: Clock) -> None:
        self._get = get
        self._audiences = audiences
        self._now = clock.now

    async def authenticate_token(self, token: str, audiences: tuple[str, ...]) -> Authenticated | None:
        parsed = _TOKEN.fullmatch(token)
        if parsed is None:
            return None
        id, secret = parsed.groups()
        found = await self._get(_SECRETS, _NAMESPACE, _PREFIX + id)
        if found is None:
            return None
        data = {key: b64decode(value or "") for key, value in (found.get("data") or {}).items()}
        groups = _groups(data.get("auth-extra-groups", b"").decode("utf-8", "replace"))
        problem = self._problem(found, data, id, secret)
        if problem or groups is None:
            log.debug(3, "bootstrap_token_not_accepted", secret=_PREFIX + id, reason=problem or "auth-extra-groups")
            return None
        user = as_authenticated(User(name=_USER_PREFIX + id, groups=groups))
        return for_own_audiences(user, self._audiences, audiences)

    def _problem(self, found: Object, data: dict[str, bytes], id: str, secret: str) -> str:
        if found["metadata"].get("deletionTimestamp"):
            return "it is being deleted"
        if found.get("type") != _TYPE:
            return "type"
        if not compare_digest(data.get("token-secret", b""), secret.encode()):
            return "token-secret"
        if data.get("token-id") != id.encode():
            return "token-id"
        if self._expired(data.get("expiration", b"").decode("utf-8", "replace")):
            return "expiration"
        return "" if data.get("usage-bootstrap-authentication") == b"true" else "usage-bootstrap-authentication"

    def _expired(self, text: str) -> bool:
        """A time that cannot be read has passed."""
        if not text:
            return False
        try:
            when = parse_time(text)
        except TimeError:
            return True
        return when is None or when.timestamp() <= self._now()


def _groups(extra: str) -> tuple[str, ...] | None:
    """All of them, sorted; None when one is no bootstrappers' group."""
    given = extra.split(",") if extra else []
    if not all(_GROUP.fullmatch(group) for group in given):
        return None
    return tuple(sorted({_DEFAULT_GROUP, *given}))
