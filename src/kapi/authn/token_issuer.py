"""Issuing service account tokens: their claims, and the signature."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import orjson

from kapi.api.objects import Object
from kapi.api.uid import new_uid
from kapi.authn.jwt import b64


class SigningKey(Protocol):
    """Signs by one algorithm; `id` is how tokens name it."""

    @property
    def id(self) -> str: ...

    @property
    def algorithm(self) -> str: ...

    def sign(self, data: bytes) -> bytes: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """What a token is bound to: each an object, or None. A pod's node is told along with it."""

    pod: Object | None = None
    secret: Object | None = None
    node: Object | None = None


class Issued(NamedTuple):
    token: str
    id: str  # its `jti`


class TokenIssuer:
    """`key` is asked for when the first token is issued."""

    def __init__(self, issuer: str, key: Callable[[], SigningKey]) -> None:
        self.issuer = issuer
        self._key = key

    def issue(
        self, account: Object, bound: Bound, audiences: list[str], now: int, seconds: int, warn_after: int = 0
    ) -> Issued:
        """`warn_after` is the number of seconds from which on a token counts as stale, though it is still good."""
        metadata = account["metadata"]
        private: Object = {"namespace": metadata["namespace"], "serviceaccount": _identity(account)}
        for kind, found in (("node", bound.node), ("pod", bound.pod), ("secret", bound.secret)):
            if found is not None:
                private[kind] = _identity(found)
        if warn_after:
            private["warnafter"] = now + warn_after
        identity = new_uid()
        claims = {
            "aud": audiences,
            "exp": now + seconds,
            "iat": now,
            "iss": self.issuer,
            "jti": identity,
            "kubernetes.io": private,
            "nbf": now,
            "sub": f"system:serviceaccount:{metadata['namespace']}:{metadata['name']}",
        }
        key = self._key()
        header = {"alg": key.algorithm, "kid": key.id}
        text = f"{b64(orjson.dumps(header))}.{b64(orjson.dumps(claims))}"
        return Issued(f"{text}.{b64(key.sign(text.encode()))}", identity)


def _identity(found: Object) -> Object:
    metadata = found["metadata"]
    identity = {"name": metadata["name"]}
    if metadata.get("uid"):
        identity["uid"] = metadata["uid"]
    return identity
