"""The certificate a client came with: verified once per connection and CA bundle.

What was found is kept in `connection.identity` until the bundle changes or the certificate expires. A chain may be
verified against several bundles: clients' CAs, and front proxies'.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from kapi.api.call import Call, Connection
from kapi.api.clock import Clock
from kapi.api.errors import Unauthorized
from kapi.authn.ca_bundle import CABundle

if TYPE_CHECKING:
    from cryptography import x509

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Verified(Generic[T]):
    """What a certificate was found to prove, or why it proves nothing."""

    generation: int
    expires: float
    proven: T | None
    failure: str = ""


class Findings:
    """A connection's identity while it is known by its certificate: what each verifier found."""

    __slots__ = ("by_verifier",)

    def __init__(self) -> None:
        self.by_verifier: dict[object, Verified[Any]] = {}


class PeerCertificate(Generic[T]):
    """`read` makes of a verified certificate (and its DER) what the caller wants to know; it may raise ValueError."""

    def __init__(self, bundle: CABundle, clock: Clock, read: Callable[[x509.Certificate, bytes], T | None]) -> None:
        self._bundle = bundle
        self._now = clock.now
        self._read = read

    def check(self, call: Call) -> T | None:
        """None when there is no certificate, or nothing to read of it; Unauthorized when it is a bad one."""
        connection = call.request.connection
        generation = self._bundle.refresh()
        findings = connection.identity
        found = findings.by_verifier.get(self) if findings.__class__ is Findings else None
        if found is None or found.generation != generation or self._now() > found.expires:
            found = self._look(connection, generation)
            if found is None:
                return None
        if found.failure:
            raise Unauthorized(found.failure)
        proven: T | None = found.proven
        return proven

    def _look(self, connection: Connection, generation: int) -> Verified[T] | None:
        der = connection.peer_certificate()
        if der is None:
            return None
        found = self._verify(der, connection, generation)
        if connection.identity.__class__ is not Findings:
            connection.identity = Findings()
        connection.identity.by_verifier[self] = found
        return found

    def _verify(self, der: bytes, connection: Connection, generation: int) -> Verified[T]:
        # Slow to import, and only needed once somebody comes with a certificate.
        from cryptography import x509

        from kapi.authn.verify import VerificationError, verify_client

        expires = self._now()
        try:
            certificate = x509.load_der_x509_certificate(der)
            expires = certificate.not_valid_after_utc.timestamp()
            others = [x509.load_der_x509_certificate(other) for other in connection.peer_intermediates()]
            verify_client(certificate, others, self._bundle.certificates(), self._now())
            proven = self._read(certificate, der)
        except (ValueError, VerificationError) as error:
            return Verified(generation, expires, None, f"verifying certificate failed: {error}")
        return Verified(generation, expires, proven)


def subject_names(certificate: x509.Certificate) -> dict[str, list[str]]:
    """The subject's attributes, by their object identifiers."""
    names: dict[str, list[str]] = {}
    for attribute in certificate.subject:
        names.setdefault(attribute.oid.dotted_string, []).append(str(attribute.value))
    return names
