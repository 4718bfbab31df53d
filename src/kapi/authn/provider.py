"""An OpenID provider: found by discovery, with keys that may change at any time.

Discovery happens with the first token. A token whose key is not known makes the keys be fetched again, as far as the
provider's cache headers and a limit allow it: forged tokens must not become requests to the provider.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import Any
from urllib.parse import urljoin, urlsplit

import orjson

from kapi.api.clock import Clock
from kapi.api.fields import go_quote
from kapi.authn.jwt import UnverifiedToken, VerificationKey
from kapi.wire.client import Answer, CallError, HTTPClient, Server, client_tls

WELL_KNOWN = "/.well-known/openid-configuration"
TIMEOUT = 30.0
_RETRY_SECONDS = 1.0  # between attempts to find the provider
_FETCHES, _FETCH_SECONDS = 10, 1.0  # so many at once, then one in so many seconds
_EARLIER = 30.0  # keys are fetched so long before the provider's headers let them expire
_MOST_REDIRECTIONS = 10
_REDIRECTIONS = frozenset((301, 302, 303, 307, 308))
_UNVERIFIED = "failed to verify id token signature"
_REASONS = {200: "OK", 400: "Bad Request", 403: "Forbidden", 404: "Not Found", 500: "Internal Server Error"}


class ProviderError(Exception):
    """The provider cannot be asked, or a token is none of its own; the message says why."""


class Web:
    """Whole answers by URL, over connections that are kept by origin."""

    def __init__(self, certificate_authority: str) -> None:
        self._tls = client_tls(certificate_authority.encode())
        self._clients: dict[str, HTTPClient] = {}

    async def get(self, url: str, token: str = "") -> Answer:
        """Redirections are followed, but take no token along. Raises CallError."""
        for _ in range(_MOST_REDIRECTIONS):
            answer = await self._get(url, token)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECTIONS or not location or token:
                return answer
            url = urljoin(url, location)
        raise CallError(f'Get "{url}": stopped after {_MOST_REDIRECTIONS} redirects')

    async def _get(self, url: str, token: str) -> Answer:
        try:
            client, target = self._client(url)
            headers = ((b"Authorization", b"Bearer " + _safe(token)),) if token else ()
        except ValueError as error:
            raise CallError(f"Get {go_quote(url)}: {error}") from None
        return await client.request("GET", target, headers=headers, timeout=TIMEOUT)

    def _client(self, url: str) -> tuple[HTTPClient, str]:
        """Of the URL's origin, and what is asked for there. ValueError says why there is none."""
        _safe(url)
        parts = urlsplit(url)
        if parts.scheme != "https":
            raise ValueError(f'unsupported protocol scheme "{parts.scheme}"')
        origin = f"{parts.scheme}://{parts.netloc}"
        client = self._clients.get(origin)
        if client is None:
            client = HTTPClient(Server(url=origin, tls=self._tls))
            self._clients[origin] = client
        return client, (parts.path or "/") + (f"?{parts.query}" if parts.query else "")

    def close(self) -> None:
        for client in self._clients.values():
            client.close()


class Provider:
    """`told` learns how fetching keys fares: it gets the key set, or None when that was not to be had."""

    def __init__(
        self,
        issuer: str,
        web: Web,
        clock: Clock,
        *,
        discovery_url: str = "",
        told: Callable[[bytes | None], None] | None = None,
    ) -> None:
        self.issuer = issuer
        self._web = web
        self._discovery_url = discovery_url or issuer.removesuffix("/") + WELL_KNOWN
        self._monotonic = clock.monotonic
        self._told = told
        self._keys: KeySet | None = None
        self._discovering = asyncio.Lock()
        self._failed_at = float("-inf")
        self._failure = ""

    async def ready(self) -> KeySet:
        """The keys, once the provider was found. Raises ProviderError."""
        if self._keys is not None:
            return self._keys
        async with self._discovering:
            if self._keys is None:
                if self._failure and self._monotonic() - self._failed_at < _RETRY_SECONDS:
                    raise ProviderError(self._failure)
                try:
                    self._keys = await self._discover()
                except ProviderError as error:
                    self._failed_at, self._failure = self._monotonic(), str(error)
                    raise
            return self._keys

    async def _discover(self) -> KeySet:
        try:
            answer = await self._web.get(self._discovery_url)
        except CallError as error:
            raise ProviderError(str(error)) from None
        if answer.status != 200:
            raise ProviderError(f"{_status(answer)}: {_shown(answer)}")
        found = _json(answer, "oidc: failed to decode provider discovery object")
        if found.get("issuer") != self.issuer:
            raise ProviderError(
                f'oidc: issuer did not match the issuer returned by provider, expected "{self.issuer}" '
                f'got "{found.get("issuer") or ""}"'
            )
        uri = found.get("jwks_uri")
        if not isinstance(uri, str) or not uri:
            raise ProviderError("provider did not return JWKS URL")
        return KeySet(lambda: self._web.get(uri), self._monotonic, self._told)


class KeySet:
    """`get` fetches the keys, `told` learns how that went."""

    def __init__(
        self,
        get: Callable[[], Awaitable[Answer]],
        monotonic: Callable[[], float],
        told: Callable[[bytes | None], None] | None,
    ) -> None:
        self._get = get
        self._monotonic = monotonic
        self._told = told
        self._keys: list[VerificationKey] = []
        self._fresh_until = float("-inf")
        self._allowance = float(_FETCHES)
        self._counted_at = monotonic()
        self._fetching: asyncio.Task[None] | None = None

    async def verify(self, token: UnverifiedToken) -> None:
        """Raises ProviderError unless one of the keys signed it."""
        if self._is_signed(token):
            return
        if not self._may_fetch():
            raise ProviderError(_UNVERIFIED)
        await self._fetch_once()
        if not self._is_signed(token):
            raise ProviderError(_UNVERIFIED)

    def _is_signed(self, token: UnverifiedToken) -> bool:
        wanted, algorithm = token.header.get("kid") or "", str(token.header.get("alg"))
        usable = (key for key in self._keys if not wanted or key.id == wanted)
        return any(key.verify(algorithm, token.signed, token.signature) for key in usable)

    def _may_fetch(self) -> bool:
        if self._fetching is not None:
            return True
        now = self._monotonic()
        if now + _EARLIER <= self._fresh_until:
            return False
        self._allowance = min(_FETCHES, self._allowance + (now - self._counted_at) / _FETCH_SECONDS)
        self._counted_at = now
        if self._allowance < 1:
            return False
        self._allowance -= 1
        return True

    async def _fetch_once(self) -> None:
        """All that wait for keys wait for the same answer, even if the first of them goes away."""
        if self._fetching is None:
            self._fetching = asyncio.ensure_future(self._fetch())
            self._fetching.add_done_callback(self._done)
        await asyncio.shield(self._fetching)

    def _done(self, task: asyncio.Task[None]) -> None:
        self._fetching = None
        if not task.cancelled():
            task.exception()  # whoever waited was told

    async def _fetch(self) -> None:
        try:
            answer = await self._get()
            if answer.status != 200:
                raise ProviderError(f"oidc: get keys failed: {_status(answer)} {_shown(answer)}")
            self._keys = _keys(_json(answer, "oidc: failed to decode keys"))
        except CallError as error:
            self._tell(None)
            raise ProviderError(f"fetching keys oidc: get keys failed {error}") from None
        except ProviderError as error:
            self._tell(None)
            raise ProviderError(f"fetching keys {error}") from None
        self._fresh_until = self._monotonic() + max_age(answer.headers.get("cache-control") or "")
        self._tell(answer.body)

    def _tell(self, content: bytes | None) -> None:
        if self._told is not None:
            self._told(content)


def _keys(document: Mapping[str, Any]) -> list[VerificationKey]:
    from kapi.authn.signing_keys import public_key_of  # slow to import

    given = document.get("keys")
    found = (public_key_of(jwk) for jwk in given if isinstance(jwk, dict)) if isinstance(given, list) else ()
    return [key for key in found if key is not None]


def _safe(text: str) -> bytes:
    """As it may stand in a request's head: ValueError for blanks, line ends and the like."""
    if not text.isascii() or not text.isprintable() or " " in text:
        raise ValueError("invalid character")
    return text.encode()


def max_age(header: str) -> float:
    """For how long a Cache-Control header lets an answer be kept; without one, not at all."""
    directives = [part.strip().lower() for part in header.split(",")]
    if "no-store" in directives or "no-cache" in directives:
        return 0.0
    ages = [m[1] for part in directives if (m := re.fullmatch(r'max-age="?(\d{1,9})"?', part))]
    return float(ages[0]) if ages else 0.0


def _json(answer: Answer, problem: str) -> Mapping[str, Any]:
    try:
        found = orjson.loads(answer.body)
    except orjson.JSONDecodeError as error:
        raise ProviderError(f"{problem}: {error}") from None
    if not isinstance(found, dict):
        raise ProviderError(f"{problem}: it is no object")
    return found


def _status(answer: Answer) -> str:
    return f"{answer.status} {_REASONS.get(answer.status, '')}".strip()


def _shown(answer: Answer) -> str:
    return answer.body[:1024].decode("utf-8", "replace")
