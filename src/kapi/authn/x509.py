"""Client certificates: the subject's common name is the user, its organizations are the groups."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from kapi.api.call import Call
from kapi.api.clock import Clock
from kapi.api.user import User
from kapi.authn.authenticator import as_authenticated
from kapi.authn.ca_bundle import CABundle
from kapi.authn.peer import PeerCertificate, subject_names

if TYPE_CHECKING:
    from cryptography import x509

COMMON_NAME, _ORGANIZATION = "2.5.4.3", "2.5.4.10"
_UID = "1.3.6.1.4.1.57683.2"
CREDENTIAL_ID = "authentication.kubernetes.io/credential-id"


class ClientCertificate:
    def __init__(self, bundle: CABundle, clock: Clock) -> None:
        self._peer = PeerCertificate(bundle, clock, _user)

    def at_once(self, call: Call) -> User | None:
        return self._peer.check(call)

    async def authenticate(self, call: Call) -> User | None:
        return self._peer.check(call)


def _user(certificate: x509.Certificate, der: bytes) -> User | None:
    names = subject_names(certificate)
    common_names = names.get(COMMON_NAME, [])
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
            groups=tuple(names.get(_ORGANIZATION, ())),
            extra={CREDENTIAL_ID: (f"X509SHA256={sha256(der).hexdigest()}",)},
        )
    )
