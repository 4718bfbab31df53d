"""ID tokens: whether one was signed by its provider, for this audience, and is good now.

As upstream's library, in its order. Errors tell of claims, never of the token.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from kapi.api.clock import Clock
from kapi.api.fields import go_quote
from kapi.authn.jwt import UnverifiedToken
from kapi.authn.provider import Provider, ProviderError
from kapi.telemetry.log import log

ALGORITHMS = ("ES256", "ES384", "ES512", "PS256", "PS384", "PS512", "RS256", "RS384", "RS512")
_NOT_BEFORE_LEEWAY = 60.0


class TokenError(Exception):
    """The token is bad; the message says why."""


class NotInitialized(TokenError):
    """The provider has not been found yet."""

    def __init__(self) -> None:
        super().__init__("oidc: authenticator not initialized")


class IDTokens:
    """The tokens of one provider, for one of these audiences, signed by one of these algorithms."""

    def __init__(self, provider: Provider, audiences: Sequence[str], algorithms: Sequence[str], clock: Clock) -> None:
        self.provider = provider
        self._audiences = tuple(audiences)
        self._algorithms = tuple(algorithms)
        self._now = clock.now

    async def verify(self, token: UnverifiedToken) -> None:
        """Raises TokenError."""
        try:
            keys = await self.provider.ready()
        except ProviderError as error:
            log.error("oidc_provider_not_found", issuer=self.provider.issuer, error=str(error))
            raise NotInitialized from None
        algorithm = token.header.get("alg")
        # Before any key is looked at: a token must not choose how it is verified.
        if algorithm not in self._algorithms:
            raise TokenError(
                f"oidc: id token signed with unsupported algorithm, expected {_go_list(self._algorithms)} "
                f"got {go_quote(str(algorithm or ''))}"
            )
        try:
            await keys.verify(token)
        except ProviderError as error:
            raise TokenError(f"failed to verify signature: {error}") from None
        self._check_audience(token.audiences)
        self._check_times(token.claims)

    def _check_audience(self, audiences: Sequence[str]) -> None:
        if any(audience in self._audiences for audience in audiences):
            return
        if len(self._audiences) == 1:
            raise TokenError(f"oidc: expected audience {go_quote(self._audiences[0])} got {_go_list(audiences)}")
        raise TokenError(f"oidc: expected audience in {_go_list(sorted(self._audiences))} got {_go_list(audiences)}")

    def _check_times(self, claims: Mapping[str, Any]) -> None:
        now = self._now()
        expiry, not_before = _time(claims, "exp"), _time(claims, "nbf")
        if expiry is None or expiry < now:
            raise TokenError(f"oidc: token is expired (Token Expiry: {_go_time(expiry)})")
        if not_before is not None and now + _NOT_BEFORE_LEEWAY < not_before:
            raise TokenError(
                f"oidc: current time {_go_time(now)} before the nbf (not before) time: {_go_time(not_before)}"
            )


def _time(claims: Mapping[str, Any], claim: str) -> float | None:
    value = claims.get(claim)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not abs(value) < 2**53:
        raise TokenError("oidc: failed to unmarshal claims: invalid time")
    return float(value)


def _go_time(seconds: float | None) -> str:
    """As Go prints a time in UTC; one that is missing is its first."""
    if seconds is None:
        return "0001-01-01 00:00:00 +0000 UTC"
    try:
        return datetime.fromtimestamp(int(seconds), UTC).strftime("%Y-%m-%d %H:%M:%S +0000 UTC")
    except (ValueError, OverflowError):
        return str(int(seconds))


def _go_list(texts: Sequence[str]) -> str:
    return "[" + " ".join(map(go_quote, texts)) + "]"
