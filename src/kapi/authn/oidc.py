"""JSON Web Tokens of OpenID providers: verified by the provider's keys, and their claims made into a user."""

from __future__ import annotations

from collections.abc import Sequence
from time import perf_counter

from kapi.api.clock import Clock
from kapi.api.errors import Unauthorized
from kapi.api.user import User
from kapi.authn.authenticator import as_authenticated
from kapi.authn.claims import UserMapping
from kapi.authn.configuration import JWTConfig
from kapi.authn.distributed_claims import DistributedClaims
from kapi.authn.id_tokens import IDTokens, NotInitialized, TokenError
from kapi.authn.jwt import UnverifiedToken, read_unverified
from kapi.authn.oidc_metrics import OIDCMetrics
from kapi.authn.provider import Provider, Web
from kapi.authn.tokens import Authenticated, for_own_audiences, shared_audiences

_GOOGLE, _GOOGLE_URL = "accounts.google.com", "https://accounts.google.com"


class JWTAuthenticator:
    """The tokens of one issuer."""

    def __init__(self, config: JWTConfig, algorithms: Sequence[str], clock: Clock, metrics: OIDCMetrics) -> None:
        self._config = config
        self._metrics = metrics.of(config.url)
        self._web = Web(config.certificate_authority)
        self.provider = Provider(
            config.url, self._web, clock, discovery_url=config.discovery_url, told=self._metrics.fetched
        )
        self._tokens = IDTokens(self.provider, config.audiences, algorithms, clock)
        self._mapping = UserMapping(config)

        def tokens_of(issuer: str) -> IDTokens:
            return IDTokens(Provider(issuer, self._web, clock), config.audiences, algorithms, clock)

        self._distributed = DistributedClaims(self._web, tokens_of)

    def close(self) -> None:
        self._web.close()
        self._metrics.forget_keys()

    async def authenticate(self, token: UnverifiedToken) -> User | None:
        """None when the token is of another issuer. Raises TokenError."""
        issuer = _GOOGLE_URL if token.issuer == _GOOGLE else token.issuer
        if issuer != self._config.url:
            return None
        began, result = perf_counter(), "failure"
        try:
            user = as_authenticated(await self._user(token))
            result = "success"
            return user
        finally:
            self._metrics.authenticated(result, perf_counter() - began)

    async def _user(self, token: UnverifiedToken) -> User:
        try:
            await self._tokens.verify(token)
        except NotInitialized:
            raise
        except TokenError as error:
            raise TokenError(f"oidc: verify token: {error}") from None
        claims = dict(token.claims)
        if self._config.groups.claim:
            try:
                await self._distributed.expand(claims, self._config.groups.claim)
            except TokenError as error:
                raise TokenError(f"oidc: could not expand distributed claims: {error}") from None
        return self._mapping.user(claims)


class JWTAuthenticators:
    """Several issuers. Their tokens are good for `audiences`, those of this API; `issuers` may be replaced."""

    def __init__(self, issuers: Sequence[JWTAuthenticator], audiences: tuple[str, ...]) -> None:
        self.issuers = tuple(issuers)
        self._audiences = audiences

    async def authenticate_token(self, token: str, audiences: tuple[str, ...]) -> Authenticated | None:
        if audiences and not shared_audiences(self._audiences, audiences):
            return None
        read = read_unverified(token)
        if read is None:
            return None
        for issuer in self.issuers:
            try:
                user = await issuer.authenticate(read)
            except TokenError as error:
                raise Unauthorized(str(error)) from None
            if user is not None:
                return for_own_audiences(user, self._audiences, audiences)
        return None
