"""An OpenID provider over real TLS, whose keys may change, and the tokens it signs."""

from __future__ import annotations

import json
import time
from base64 import urlsafe_b64encode
from hashlib import sha256
from hmac import new as hmac
from pathlib import Path
from typing import Any, NamedTuple

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import padding, rsa

from kapi.authn.signing_keys import SigningKey
from tests.https_server import Asked, HTTPSServer


class Location(NamedTuple):
    """Instead of a document: where it is."""

    url: str


class Key:
    """An RSA key with a name of its own."""

    def __init__(self, id: str) -> None:
        self.id = id
        self.private = rsa.generate_private_key(65537, 2048)
        self.jwk = {**SigningKey(self.private).public.jwk, "kid": id}

    def sign(self, claims: dict[str, Any], **header: Any) -> str:
        head = {"alg": "RS256", "kid": self.id, **header}
        signed = f"{_part(head)}.{_part(claims)}"
        return f"{signed}.{_b64(self._signature(head['alg'], signed.encode()))}"

    def _signature(self, algorithm: str, data: bytes) -> bytes:
        if algorithm == "HS256":
            # The classic confusion: the public key taken for a shared secret.
            return hmac(json.dumps(self.jwk).encode(), data, sha256).digest()
        if algorithm == "none":
            return b""
        pss = padding.PSS(padding.MGF1(hashes.SHA256()), padding.PSS.DIGEST_LENGTH)
        return self.private.sign(data, pss if algorithm == "PS256" else padding.PKCS1v15(), hashes.SHA256())


class Issuer:
    """`documents` are what it serves by path; `keys` those it publishes."""

    def __init__(self, folder: Path) -> None:
        self.key = Key("first")
        self.keys = [self.key]
        self.documents: dict[str, Any] = {}
        self.status = 200
        self.server = HTTPSServer(folder, self._answer)
        self.url = self.server.url

    def _answer(self, asked: Asked) -> tuple[Any, ...]:
        documents = {
            "/.well-known/openid-configuration": {"issuer": self.url, "jwks_uri": f"{self.url}/keys"},
            "/keys": {"keys": [key.jwk for key in self.keys]},
            **self.documents,
        }
        found = documents.get(asked.path)
        if isinstance(found, Location):
            return 302, b"", {"location": found.url}
        return (404, b"nothing here") if found is None else (self.status, found)

    def rotate(self, id: str) -> Key:
        self.key = Key(id)
        self.keys = [self.key]
        return self.key

    def fetches(self) -> int:
        return sum(asked.path == "/keys" for asked in self.server.asked)

    def token(self, key: Key | None = None, header: dict[str, Any] | None = None, **changed: Any) -> str:
        """Good for an hour; a claim that is None is left out."""
        now = int(time.time())
        claims = {"iss": self.url, "aud": "us", "sub": "alice", "exp": now + 3600, "iat": now, **changed}
        return (key or self.key).sign({k: v for k, v in claims.items() if v is not None}, **(header or {}))

    def close(self) -> None:
        self.server.close()


def _part(value: Any) -> str:
    return _b64(json.dumps(value).encode())


def _b64(data: bytes) -> str:
    return urlsafe_b64encode(data).rstrip(b"=").decode()
