"""Distributed claims: a token may say where its groups are to be had, as another token of another issuer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from kapi.authn.id_tokens import IDTokens, TokenError
from kapi.authn.jwt import read_unverified
from kapi.authn.provider import Web
from kapi.wire.client import CallError

_MOST_ISSUERS = 16


class DistributedClaims:
    """`tokens_of` makes what verifies the tokens of an issuer; each is made once."""

    def __init__(self, web: Web, tokens_of: Callable[[str], IDTokens]) -> None:
        self._web = web
        self._tokens_of = tokens_of
        self._issuers: dict[str, IDTokens] = {}

    async def expand(self, claims: dict[str, Any], claim: str) -> None:
        """Put the claim among the others, if it is not there but elsewhere. Raises TokenError."""
        names = claims.get("_claim_names")
        if claim in claims or names is None:
            return
        if not isinstance(names, dict):
            raise TokenError("oidc: error parsing distributed claim names: it is no object")
        sources = claims.get("_claim_sources")
        if not isinstance(sources, dict):
            raise TokenError("oidc: no claim sources")
        if claim not in names:
            return
        source = sources.get(names[claim]) if isinstance(names[claim], str) else None
        if not isinstance(source, dict):
            raise TokenError(f"id token _claim_names contained a source {names[claim]} missing in _claims_sources")
        endpoint, token = (source.get(field) or "" for field in ("endpoint", "access_token"))
        if isinstance(endpoint, str) and endpoint and isinstance(token, str):
            claims[claim] = await self._resolve(endpoint, token, claim)

    async def _resolve(self, endpoint: str, access_token: str, claim: str) -> Any:
        text = await self._get(endpoint, access_token, claim)
        read = read_unverified(text)
        if read is None:
            said = f'getting untrusted issuer from endpoint {endpoint} failed for claim "{claim}"'
            raise TokenError(f"{said}: malformed token")
        try:
            await self._tokens(read.issuer).verify(read)
        except TokenError as error:
            raise TokenError(f"verify distributed claim token: {error}") from None
        if claim not in read.claims:
            said = f'jwt returned by distributed claim endpoint "{endpoint}" did not contain claim'
            raise TokenError(f"{said}: {claim}")
        return read.claims[claim]

    async def _get(self, endpoint: str, access_token: str, claim: str) -> str:
        try:
            answer = await self._web.get(endpoint, access_token)
        except CallError as error:
            raise TokenError(f'while getting distributed claim "{claim}": {error}') from None
        if not 200 <= answer.status <= 226:
            said = f"error while getting distributed claim JWT: {answer.status}"
            raise TokenError(f'while getting distributed claim "{claim}": {said}')
        return answer.body.decode("latin-1")

    def _tokens(self, issuer: str) -> IDTokens:
        found = self._issuers.get(issuer)
        if found is None:
            if len(self._issuers) >= _MOST_ISSUERS:
                self._issuers.clear()
            found = self._issuers[issuer] = self._tokens_of(issuer)
        return found
