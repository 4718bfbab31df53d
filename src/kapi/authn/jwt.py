"""JSON Web Tokens, compact form: reading one without trusting it, verifying it, and its times."""

from __future__ import annotations

import binascii
from base64 import b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import orjson

from kapi.api.errors import Unauthorized

LEEWAY = 60.0
# As upstream's library says that a signature is not one.
BAD_SIGNATURE = "go-jose/go-jose: error in cryptographic primitive"
NO_KEYS = "invalid signature, no keys found"


class VerificationKey(Protocol):
    id: str

    def verify(self, algorithm: str, signed: bytes, signature: bytes) -> bool: ...


@dataclass(frozen=True, slots=True)
class UnverifiedToken:
    """What a token says of itself."""

    header: Mapping[str, Any]
    claims: Mapping[str, Any]
    signed: bytes
    signature: bytes

    @property
    def issuer(self) -> str:
        issuer = self.claims.get("iss")
        return issuer if isinstance(issuer, str) else ""

    @property
    def audiences(self) -> tuple[str, ...]:
        given = self.claims.get("aud")
        if isinstance(given, str):
            return (given,)
        return tuple(a for a in given if isinstance(a, str)) if isinstance(given, list) else ()

    def verify(self, keys: Iterable[VerificationKey]) -> None:
        """Unauthorized unless one of the keys signed it; a token that names its key is held to that."""
        wanted = self.header.get("kid") or ""
        usable = [key for key in keys if not wanted or key.id == wanted]
        if not usable:
            raise Unauthorized(NO_KEYS)
        algorithm = self.header.get("alg")
        if not isinstance(algorithm, str) or not any(k.verify(algorithm, self.signed, self.signature) for k in usable):
            raise Unauthorized(BAD_SIGNATURE)

    def check_times(self, now: float, subject: str) -> None:
        """Unauthorized when it is not valid yet or no more, within a minute's leeway."""
        if now + LEEWAY < self._time("nbf", now):
            raise Unauthorized(f"{subject} is not valid yet")
        if now - LEEWAY > self._time("exp", now):
            raise Unauthorized(f"{subject} has expired")
        if now + LEEWAY < self._time("iat", now):
            raise Unauthorized(f"{subject} is issued in the future")

    def _time(self, claim: str, absent: float) -> float:
        value = self.claims.get(claim)
        if value is None:
            return absent
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise Unauthorized(f"the {claim} claim is not a time")
        return value


def read_unverified(token: str) -> UnverifiedToken | None:
    """None when it is no JSON Web Token at all."""
    parts = token.split(".")
    if len(parts) != 3:
        return None
    try:
        header, claims = (orjson.loads(_decode(part)) for part in parts[:2])
        signature = _decode(parts[2])
        signed = token.rpartition(".")[0].encode("ascii")
    except (ValueError, binascii.Error, RecursionError):
        return None
    if not isinstance(header, dict) or not isinstance(claims, dict) or "crit" in header:
        return None
    return UnverifiedToken(header, claims, signed, signature)


def _decode(part: str) -> bytes:
    if "=" in part:
        raise ValueError("padding")
    return b64decode(part + "=" * (-len(part) % 4), altchars=b"-_", validate=True)


def b64(data: bytes) -> str:
    """As the parts of a token are written."""
    return urlsafe_b64encode(data).rstrip(b"=").decode()
