"""What must hold of a certificate that a signer issued for a pod."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from kapi.api.fields import FieldError, invalid, required, too_long
from kapi.api.objects import Object
from kapi.resources.certificates import pem

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

_MAX_BYTES = 100 * 1024
_MARGIN = timedelta(minutes=10)
_SKEW = timedelta(minutes=5)
_CHAIN = "status.certificateChain"
_ONLY_CERTIFICATES = "issued certificate chain must consist entirely of CERTIFICATE PEM blocks"
_TIMES = {
    "notBefore": "must be present and consistent with the issued certificate",
    "notAfter": "must be present and consistent with the issued certificate",
    "beginRefreshAt": "must be present and in the range [notbefore+10min, notafter-10min]",
}


def validate_issued(spec: Object, status: Object, now: float) -> list[FieldError]:
    chain = status.get("certificateChain", "")
    if len(chain.encode()) > _MAX_BYTES:
        return [too_long(_CHAIN, _MAX_BYTES)]
    blocks = list(pem.blocks(chain.encode()))
    if not blocks:
        return [invalid(_CHAIN, chain, "issued certificate chain must contain at least one certificate")]
    if blocks[0].type != "CERTIFICATE":
        return [invalid(_CHAIN, chain, _ONLY_CERTIFICATES)]
    leaf = pem.parse_certificate(blocks[0].content)
    if leaf is None:
        return [invalid(_CHAIN, chain, "leaf certificate does not parse as valid X.509")]
    errors = _validate_names(leaf)
    if _public_bytes(leaf.public_key()) != _requested_key(spec):
        return [*errors, invalid(_CHAIN, chain, "leaf certificate was not issued to the requested public key")]
    errors += [required(f"status.{field}", why) for field, why in _TIMES.items() if not status.get(field)]
    errors = errors or _validate_times(spec, status, leaf, now)
    return errors or _validate_intermediates(blocks[1:], chain)


def _public_bytes(key: Any) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

    encoded: bytes = key.public_bytes(Encoding.DER, PublicFormat.SubjectPublicKeyInfo)
    return encoded


def _requested_key(spec: Object) -> bytes:
    request = pem.parse_request(pem.decode(spec.get("stubPKCS10Request")))
    return pem.decode(spec.get("pkixPublicKey")) if request is None else _public_bytes(request.public_key())


def _validate_names(leaf: Certificate) -> list[FieldError]:
    from cryptography import x509

    try:
        names = leaf.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except (x509.ExtensionNotFound, ValueError):
        return []
    errors: list[FieldError] = []
    for name in names.get_values_for_type(x509.DNSName):
        if not name:
            errors.append(invalid(_CHAIN, name, "leaf certificate should not contain empty DNSName"))
        if ".." in name:
            errors.append(invalid(_CHAIN, name, "leaf certificate's DNSName should not contain '..'"))
        if name.startswith(".") or name.endswith("."):
            errors.append(invalid(_CHAIN, name, "leaf certificate's DNSName should not start or end with '.'"))
    for address in names.get_values_for_type(x509.RFC822Name):
        if "@" not in address.strip("@"):
            errors.append(invalid(_CHAIN, address, "leaf certificate should not contain invalid EmailAddress"))
    return errors


def _validate_times(spec: Object, status: Object, leaf: Certificate, now: float) -> list[FieldError]:
    begin, end, refresh = (datetime.fromisoformat(status[field]) for field in _TIMES)
    lifetime = leaf.not_valid_after_utc - leaf.not_valid_before_utc
    most = spec.get("maxExpirationSeconds", 0)
    checks: tuple[tuple[str, object, str, bool], ...] = (
        (
            "status.notBefore",
            status["notBefore"],
            "must be set to the NotBefore time encoded in the leaf certificate",
            begin == leaf.not_valid_before_utc,
        ),
        (
            "status.notBefore",
            status["notBefore"],
            "must be set to within 5 minutes of kube-apiserver's current time",
            abs(begin - datetime.fromtimestamp(now, UTC)) < _SKEW,
        ),
        (
            "status.notAfter",
            status["notAfter"],
            "must be set to the NotAfter time encoded in the leaf certificate",
            end == leaf.not_valid_after_utc,
        ),
        (
            _CHAIN,
            int(lifetime.total_seconds() * 10**9),
            "leaf certificate lifetime must be >= 1 hour",
            lifetime >= timedelta(hours=1),
        ),
        (
            _CHAIN,
            int(lifetime.total_seconds() * 10**9),
            f"leaf certificate lifetime must be <= spec.maxExpirationSeconds ({most})",
            lifetime <= timedelta(seconds=most),
        ),
        (
            "status.beginRefreshAt",
            status["beginRefreshAt"],
            "must be at least 10 minutes after status.notBefore",
            refresh >= begin + _MARGIN,
        ),
        (
            "status.beginRefreshAt",
            status["beginRefreshAt"],
            "must be at least 10 minutes before status.notAfter",
            refresh <= end - _MARGIN,
        ),
    )
    return next(([invalid(path, value, why)] for path, value, why, holds in checks if not holds), [])


def _validate_intermediates(blocks: list[pem.Block], chain: str) -> list[FieldError]:
    for block in blocks:
        if block.type != "CERTIFICATE":
            return [invalid(_CHAIN, chain, _ONLY_CERTIFICATES)]
        if pem.parse_certificate(block.content) is None:
            return [invalid(_CHAIN, chain, "intermediate certificate does not parse as valid X.509")]
    return []
