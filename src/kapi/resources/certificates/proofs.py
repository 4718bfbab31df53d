"""How a pod shows that it has the key it asks a certificate for: a signed request, or a signature of its uid."""

from __future__ import annotations

from typing import Any

from kapi.api.fields import OMITTED, FieldError, invalid, too_long
from kapi.api.objects import Object
from kapi.resources.certificates import pem

_MAX_BYTES = 10 * 1024
_REQUEST, _KEY, _PROOF = "spec.stubPKCS10Request", "spec.pkixPublicKey", "spec.proofOfPossession"
_UNKNOWN = "unknown public key type; supported types are Ed25519, ECDSA, and RSA"


def validate_proof(spec: Object) -> list[FieldError]:
    request, key, proof = (pem.decode(spec.get(f)) for f in ("stubPKCS10Request", "pkixPublicKey", "proofOfPossession"))
    if request and not key and not proof:
        return _validate_request(request)
    if key and proof and not request:
        return _validate_signature(key, proof, spec.get("podUID", "").encode())
    why = "exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set"
    return [invalid("spec", OMITTED, why)]


def _validate_request(content: bytes) -> list[FieldError]:
    if len(content) > _MAX_BYTES:
        return [too_long(_REQUEST, _MAX_BYTES)]
    request = pem.parse_request(content)
    if request is None:
        return [invalid(_REQUEST, OMITTED, "must be a valid PKCS#10 CSR")]
    errors = _validate_key(request.public_key(), _REQUEST, OMITTED)
    return errors or ([] if pem.signed(request) else [invalid(_REQUEST, OMITTED, "invalid signature")])


def _validate_key(key: Any, path: str, shown: object) -> list[FieldError]:
    from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa

    if isinstance(key, rsa.RSAPublicKey):
        if key.key_size in (3072, 4096):
            return []
        return [invalid(path, f"{key.key_size}-bit modulus", "RSA keys must have modulus size 3072 or 4096")]
    if isinstance(key, ec.EllipticCurvePublicKey):
        if isinstance(key.curve, (ec.SECP256R1, ec.SECP384R1, ec.SECP521R1)):
            return []
        why = "elliptic public keys must use curve P256, P384, or P521"
        return [invalid(path, f"curve P-{key.curve.key_size}", why)]
    return [] if isinstance(key, ed25519.Ed25519PublicKey) else [invalid(path, shown, _UNKNOWN)]


def _validate_signature(content: bytes, proof: bytes, uid: bytes) -> list[FieldError]:
    from cryptography.exceptions import UnsupportedAlgorithm
    from cryptography.hazmat.primitives.serialization import load_der_public_key

    for path, value in ((_KEY, content), (_PROOF, proof)):
        if len(value) > _MAX_BYTES:
            return [too_long(path, _MAX_BYTES)]
    try:
        key = load_der_public_key(content)
    except (ValueError, UnsupportedAlgorithm):
        return [invalid(_KEY, OMITTED, "must be a valid PKIX-serialized public key")]
    errors = _validate_key(key, _KEY, OMITTED)
    if errors or _verifies(key, proof, uid):
        return errors
    return [invalid(_PROOF, OMITTED, "could not verify proof-of-possession signature")]


def _verifies(key: Any, proof: bytes, message: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives import hashes
    from cryptography.hazmat.primitives.asymmetric import ec, padding, rsa

    try:
        if isinstance(key, rsa.RSAPublicKey):
            scheme = padding.PSS(mgf=padding.MGF1(hashes.SHA256()), salt_length=padding.PSS.AUTO)
            key.verify(proof, message, scheme, hashes.SHA256())
        elif isinstance(key, ec.EllipticCurvePublicKey):
            key.verify(proof, message, ec.ECDSA(hashes.SHA256()))
        else:
            key.verify(proof, message)
    except InvalidSignature:
        return False
    return True
