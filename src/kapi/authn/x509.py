"""Client certificates: the subject's common name is the user, its organizations are the groups.

Verified once per connection; what was found is kept in `connection.identity` until the CA bundle changes or the
certificate expires.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING

from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.api.errors import Unauthorized
from kapi.api.user import User
from kapi.authn.authenticator import as_authenticated
from kapi.authn.ca_bundle import CABundle

if TYPE_CHECKING:
    from cryptography import x509

_UID = "1.3.6.1.4.1.57683.2"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


@dataclass(frozen=True, slots=True)
class VerifiedCertificate:
    """What a connection's certificate was found to prove: a user, nobody, or why it proves nothing."""

    generation: int
    expires: float
    user: User | None
    failure: str = ""


class ClientCertificate:
    def __init__(self, bundle: CABundle, clock: Clock) -> None:
        self._bundle = bundle
        self._now = clock.now

    async def authenticate(self, call: Call) -> User | None:
        connection = call.request.connection
        generation = self._bundle.refresh()
        found = connection.identity
        if found.__class__ is not VerifiedCertificate or found.generation != generation or self._now() > found.expires:
            der = connection.peer_certificate()
            if der is None:
                return None
            found = connection.identity = self._verify(der, generation)
        if found.failure:
            raise Unauthorized(found.failure)
        user: User | None = found.user
        return user

    def _verify(self, der: bytes, generation: int) -> VerifiedCertificate:
        # Slow to import, and only needed once somebody comes with a certificate.
        from cryptography import x509

        from kapi.authn.verify import VerificationError, verify_client

        expires = self._now()
        try:
            certificate = x509.load_der_x509_certificate(der)
            expires = certificate.not_valid_after_utc.timestamp()
            verify_client(certificate, (), self._bundle.certificates(), self._now())
            user = _user(certificate, der)
        except (ValueError, VerificationError) as error:
            return VerifiedCertificate(generation, expires, None, f"verifying certificate failed: {error}")
        return VerifiedCertificate(generation, expires, user)


def _user(certificate: x509.Certificate, der: bytes) -> User | None:
    names: dict[str, list[str]] = {}
    for attribute in certificate.subject:
        names.setdefault(attribute.oid.dotted_string, []).append(str(attribute.value))
    common_names = names.get("2.5.4.3", [])
    if not common_names or not common_names[-1]:
        return None
    uids = names.get(_UID, [])
    if len(uids) > 1:
        raise ValueError(f"expected 1 UID, but found multiple: {uids}")
    if uids and not uids[0]:
        raise ValueError("UID cannot be an empty string")
    return as_authenticated(
        User(
            name=common_names[-1],
            uid=uids[0] if uids else "",
            groups=tuple(names.get("2.5.4.10", ())),
            extra={CREDENTIAL_ID: (f"X509SHA256={sha256(der).hexdigest()}",)},
        )
    )
