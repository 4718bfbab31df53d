"""What is counted of the issuers of JSON Web Tokens. Issuers and servers are told by their hashes."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

from kapi.telemetry.metrics import Registry

_PREFIX = "apiserver_authentication_jwt_authenticator"


class OIDCMetrics:
    def __init__(self, registry: Registry, server_id: str, now: Callable[[], float]) -> None:
        self.server = _hash(server_id.encode())
        self.now = now
        self.latency = registry.histogram(
            f"{_PREFIX}_latency_seconds",
            "Latency of jwt authentication operations in seconds. This is the time spent authenticating a token for "
            "cache miss only (i.e. when the token is not found in the cache).",
            (0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
            ("result", "jwt_issuer_hash"),
        )
        self.fetches = registry.gauge(
            f"{_PREFIX}_jwks_fetch_last_timestamp_seconds",
            "Timestamp of the last successful or failed JWKS fetch split by result, api server identity and jwt issuer "
            "for the JWT authenticator.",
            ("result", "jwt_issuer_hash", "apiserver_id_hash"),
        )
        self.key_sets = registry.gauge(
            f"{_PREFIX}_jwks_fetch_last_key_set_info",
            "Information about the last JWKS fetched by the JWT authenticator with hash as label, split by api server "
            "identity and jwt issuer.",
            ("jwt_issuer_hash", "apiserver_id_hash", "hash"),
        )

    def of(self, issuer: str) -> IssuerMetrics:
        return IssuerMetrics(self, _hash(issuer.encode()))


class IssuerMetrics:
    def __init__(self, metrics: OIDCMetrics, issuer: str) -> None:
        self._metrics = metrics
        self._issuer = issuer

    def authenticated(self, result: str, seconds: float) -> None:
        self._metrics.latency.observe(seconds, (result, self._issuer))

    def fetched(self, content: bytes | None) -> None:
        """A key set, or None when it was not to be had."""
        metrics = self._metrics
        result = "failure" if content is None else "success"
        metrics.fetches.set(metrics.now(), (result, self._issuer, metrics.server))
        if content is not None:
            self.forget_keys()
            metrics.key_sets.set(1, (self._issuer, metrics.server, _hash(content)))

    def forget_keys(self) -> None:
        for labels in [labels for labels in self._metrics.key_sets.values if labels[0] == self._issuer]:
            del self._metrics.key_sets.values[labels]


def _hash(content: bytes) -> str:
    return f"sha256:{sha256(content).hexdigest()}" if content else ""
