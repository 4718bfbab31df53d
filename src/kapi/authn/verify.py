"""Verifying a client's certificate chain, as Go's crypto/x509 does with a pool of roots.

The `cryptography` package has a verifier of its own, but it keeps the web's rules (subject alternative names, key
types), which client certificates of clusters do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.x509.oid import ExtendedKeyUsageOID, ExtensionOID

_LONGEST = 8
_CLIENT = (ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.ANY_EXTENDED_KEY_USAGE)
# Critical extensions that are understood here; a certificate with any other critical one is refused.
_UNDERSTOOD = {
    ExtensionOID.BASIC_CONSTRAINTS,
    ExtensionOID.KEY_USAGE,
    ExtensionOID.EXTENDED_KEY_USAGE,
    ExtensionOID.SUBJECT_ALTERNATIVE_NAME,
    ExtensionOID.CERTIFICATE_POLICIES,
}


class VerificationError(Exception):
    """The certificate proves nothing; the message says why."""


def verify_client(
    leaf: x509.Certificate, intermediates: Sequence[x509.Certificate], roots: Sequence[x509.Certificate], now: float
) -> None:
    """VerificationError unless a chain of valid client-auth certificates leads from the leaf to a root."""
    when = datetime.fromtimestamp(now, UTC)
    _check(leaf, when)
    if leaf in roots:
        return
    why = _climb([leaf], intermediates, roots, when)
    if why:
        raise VerificationError(why)


def _climb(
    chain: list[x509.Certificate],
    intermediates: Sequence[x509.Certificate],
    roots: Sequence[x509.Certificate],
    when: datetime,
) -> str:
    """Empty when a chain was found, else the reason why none was."""
    why = "x509: certificate signed by unknown authority"
    if len(chain) > _LONGEST:
        return why
    for issuer in (*roots, *intermediates):
        if issuer in chain or not _issued(chain[-1], issuer):
            continue
        try:
            _check(issuer, when)
            _check_authority(issuer, below=len(chain) - 1)
        except VerificationError as error:
            why = str(error)
            continue
        if issuer in roots:
            return ""
        why = _climb([*chain, issuer], intermediates, roots, when)
        if not why:
            return ""
    return why


def _issued(certificate: x509.Certificate, issuer: x509.Certificate) -> bool:
    try:
        certificate.verify_directly_issued_by(issuer)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _check(certificate: x509.Certificate, when: datetime) -> None:
    if when < certificate.not_valid_before_utc or when > certificate.not_valid_after_utc:
        raise VerificationError("x509: certificate has expired or is not yet valid")
    try:
        extensions = certificate.extensions
    except ValueError as error:
        raise VerificationError(f"x509: malformed extensions: {error}") from error
    for extension in extensions:
        if extension.critical and extension.oid not in _UNDERSTOOD:
            raise VerificationError("x509: unhandled critical extension")
        if isinstance(extension.value, x509.ExtendedKeyUsage) and not any(u in extension.value for u in _CLIENT):
            raise VerificationError("x509: certificate specifies an incompatible key usage")


def _check_authority(issuer: x509.Certificate, below: int) -> None:
    """A signer must be a CA, may sign certificates, and allows so many CAs below itself."""
    for extension in issuer.extensions:
        value = extension.value
        if isinstance(value, x509.BasicConstraints):
            if not value.ca:
                break
            if value.path_length is not None and below > value.path_length:
                raise VerificationError("x509: too many intermediates for path length constraint")
        if isinstance(value, x509.KeyUsage) and not value.key_cert_sign:
            break
    else:
        if issuer.version is x509.Version.v1 or _has_basic_constraints(issuer):
            return
    raise VerificationError("x509: invalid signature: parent certificate cannot sign this kind of certificate")


def _has_basic_constraints(certificate: x509.Certificate) -> bool:
    return any(e.oid == ExtensionOID.BASIC_CONSTRAINTS for e in certificate.extensions)
